extension MalformedFile {
  /// What people get instead of weights.
  static var wrongKinds: [MalformedFile] {
    func kind(_ description: String, _ text: String, says: String) -> MalformedFile {
      MalformedFile("instead of weights: " + description, [(name: "model.safetensors", bytes: Array(text.utf8))], says: says)
    }
    return [
      kind(
        "a Git LFS pointer",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
        says: "git lfs pull"),
      kind("an HTML page", "<!DOCTYPE html>\n<html><head><title>404</title></head></html>", says: "HTML page"),
      kind("an HTML page without a doctype", "\n <html lang=\"en\"><body>Sign in</body></html>", says: "HTML page"),
      kind("an XML error", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", says: "XML"),
      kind("a JSON error", "{\"error\":\"Invalid username or password.\"}", says: "a short error message"),
      kind("a text", "hello, this is no checkpoint at all", says: "found"),
      MalformedFile(
        "instead of weights: zeros", [(name: "model.safetensors", bytes: [UInt8](repeating: 0, count: 4096))], says: "zero bytes"),
      MalformedFile("instead of weights: nothing", [(name: "model.safetensors", bytes: [])], says: "empty"),
      MalformedFile("instead of weights: three bytes", [(name: "model.safetensors", bytes: [1, 2, 3])], says: "3 bytes"),
      MalformedFile(
        "instead of weights: gzip", [(name: "model.safetensors", bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3])], says: "gzip"),
      MalformedFile(
        "an empty directory", [(name: "README.md", bytes: [0x23]), (name: "notes.txt", bytes: [0x61])], says: "no file with tensors"),
    ]
  }
}
