internal import ArgumentParser
struct InspectCommand: ParsableCommand { func run() throws {} }
struct TrainCommand: ParsableCommand { func run() throws {} }
struct EvaluateCommand: ParsableCommand { func run() throws {} }
struct PredictCommand: ParsableCommand { func run() throws {} }
struct GenerateCommand: ParsableCommand { func run() throws {} }
struct PerplexityCommand: ParsableCommand { func run() throws {} }
