/**
 * Inboxes of the sandbox keep the mail of branches and test runs apart. A captured copy belongs to the inbox of the
 * `+label` in its recipient's address, or without a label to the inbox of the token that sent it.
 */

const MAX_LABEL = 64;

/** `run-17` of `user+run-17@example.com`, in lower case; null without a label. */
export function inboxLabel(address: string): string | null {
  const local = address.slice(0, address.lastIndexOf('@'));
  const plus = local.indexOf('+');
  const label = plus < 0 ? '' : local.slice(plus + 1, plus + 1 + MAX_LABEL);
  return label === '' ? null : label.toLowerCase();
}
