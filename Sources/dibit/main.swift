internal import DibitCommand

CommandLineTool.runAndExit()
