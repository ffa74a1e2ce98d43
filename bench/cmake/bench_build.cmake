# Writes OUTPUT, a header with what the results say about the build. Run at every build; the file is
# only touched when something changed. Needs SOURCE_DIR, COMPILER, FLAGS, HIGHWAY, TBB.
set(commit "unknown")
set(dirty "false")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} rev-parse HEAD WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE head RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit ${head})
    execute_process(COMMAND ${GIT} status --porcelain --untracked-files=no
      WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty "true")
    endif()
  endif()
endif()
set(content "#pragma once
#define CT_BENCH_COMMIT \"${commit}\"
#define CT_BENCH_DIRTY ${dirty}
#define CT_BENCH_COMPILER \"${COMPILER}\"
#define CT_BENCH_FLAGS \"${FLAGS}\"
#define CT_BENCH_HIGHWAY \"${HIGHWAY}\"
#define CT_BENCH_TBB \"${TBB}\"
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
