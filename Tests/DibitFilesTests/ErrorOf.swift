/// The error of `body`, which must throw one.
func error<Failure: Error>(of body: () throws(Failure) -> Void) -> Failure? {
  do throws(Failure) {
    try body()
    return nil
  } catch {
    return error
  }
}
