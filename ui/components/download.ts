/** Starts a download, as a link does. */
export function downloadFrom(url: string, name: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}

/** The same for a text that this page made. */
export function downloadText(text: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  downloadFrom(url, name);
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
