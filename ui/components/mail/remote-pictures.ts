/** Whether HTML names pictures that lie elsewhere: in attributes or in style. A guess for a notice, not a fence. */
const REMOTE =
  /(?:\s(?:src|srcset|background|poster)\s{0,9}=\s{0,9}["']?\s{0,9}|url\(\s{0,9}["']?\s{0,9}|@import\s{1,9}["'])(?:https?:)?\/\//i;

export function namesRemotePictures(html: string): boolean {
  return REMOTE.test(html);
}
