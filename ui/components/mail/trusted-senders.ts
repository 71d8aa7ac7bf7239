/** Senders whose pictures from elsewhere are shown, kept in this browser: the latest hundred. */
const KEY = 'postrider.pictures-from';
const MOST = 100;

export function isSenderAllowed(sender: string): boolean {
  return stored().includes(sender.toLowerCase());
}

export function allowSender(sender: string): void {
  const others = stored().filter((one) => one !== sender.toLowerCase());
  localStorage.setItem(KEY, JSON.stringify([sender.toLowerCase(), ...others].slice(0, MOST)));
}

function stored(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
