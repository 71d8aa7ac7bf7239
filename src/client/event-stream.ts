/**
 * Reads server-sent events (WHATWG HTML §9.2) from a response while its body arrives: id, name and data of each event.
 * Comment lines, which only keep the connection alive, are dropped.
 */

export interface StreamedEvent {
  /** Pass the last one as `lastEventId` to continue after it. */
  id: string;
  event: string;
  data: string;
}

/** Ends when the server closes; throws what reading throws. Leaving the loop closes the connection. */
export async function* streamedEvents(response: Response): AsyncGenerator<StreamedEvent> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = blank('');
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const raw of lines) {
        const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
        if (line !== '') {
          take(event, line);
          continue;
        }
        if (event.data !== '') yield { ...event, data: event.data.slice(0, -1) };
        event = blank(event.id);
      }
    }
  } finally {
    await reader.cancel().catch(() => {
      // It is already closed.
    });
  }
}

function blank(id: string): StreamedEvent {
  return { id, event: 'message', data: '' };
}

function take(event: StreamedEvent, line: string): void {
  const colon = line.indexOf(':');
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
  if (name === 'data') event.data += `${value}\n`;
  else if (name === 'id') event.id = value;
  else if (name === 'event') event.event = value;
}
