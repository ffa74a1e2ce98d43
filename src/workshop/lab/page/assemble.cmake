# Puts the script and the core into the page. CORE, FOLDER, PAGE: file, folder of the parts, result.
cmake_minimum_required(VERSION 3.25)
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.js script)
file(READ ${CORE} core)
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(REPLACE "@CORE@" "${core}" page "${page}")
file(WRITE ${PAGE} "${page}")
