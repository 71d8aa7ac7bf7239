/** Instants in sentences of the server, as the reader's zone has them. */

const INSTANT = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g;
const SHORT = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
});

/** A sentence of the server with its instants in the reader's zone. */
export function withLocalTimes(text: string): string {
  return text.replace(INSTANT, (instant) => SHORT.format(new Date(instant)));
}
