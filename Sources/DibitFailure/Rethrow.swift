/// Throws what `body` throws as an error of this layer: `try rethrow(as: StoreError.file, readFile(path))`.
package func rethrow<Cause: Error, Fault: Error, Result: ~Copyable>(
  as fault: (Cause) -> Fault, _ body: @autoclosure () throws(Cause) -> Result
) throws(Fault) -> Result {
  do throws(Cause) { return try body() } catch { throw fault(error) }
}

/// Throws what `body` throws as an error of this layer that says where: `try rethrow(as: StoreError.json, at: path, JSONValue(parsing: bytes))`.
package func rethrow<Cause: Error, Fault: Error, Result: ~Copyable>(
  as fault: (Cause, String) -> Fault, at location: String, _ body: @autoclosure () throws(Cause) -> Result
) throws(Fault) -> Result {
  do throws(Cause) { return try body() } catch { throw fault(error, location) }
}
