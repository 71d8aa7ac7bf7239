/** The text with a capital letter at its beginning, as in a sentence or a name of the API. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
