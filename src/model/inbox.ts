/**
 * The sandbox's inboxes: what keeps the mail of branches and test runs apart. The rule is one sentence: a copy lies in
 * the inbox of the `+label` in its recipient's address, and without one in that of the token that sent it.
 */

const MAX_LABEL = 64;

/** `run-17` of `user+run-17@example.com`, in lower case; null where the address has no label. */
export function inboxLabel(address: string): string | null {
  const local = address.slice(0, address.lastIndexOf('@'));
  const plus = local.indexOf('+');
  const label = plus < 0 ? '' : local.slice(plus + 1, plus + 1 + MAX_LABEL);
  return label === '' ? null : label.toLowerCase();
}
