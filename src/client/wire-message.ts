/** Turns a message for the client into one for the API: bytes become base64, instants text, and ContentType is added. */
import type { SendRequest } from './requests.ts';

/** Bytes turned to text at once: more arguments than this would not fit on the stack. */
const CHUNK = 0x8000;

/** The body of POST /email, or an item of a batch. */
export function wireMessage(message: SendRequest): object {
  const { Attachments: files, SendAt: sendAt, ExpiresAt: expiresAt, ...rest } = message;
  return {
    // A template has a content type of its own.
    ...(message.TemplateID === undefined
      ? { ContentType: message.HTMLContent === undefined ? 'Text' : 'HTML' }
      : {}),
    ...rest,
    ...(sendAt === undefined ? {} : { SendAt: instantText(sendAt) }),
    ...(expiresAt === undefined ? {} : { ExpiresAt: instantText(expiresAt) }),
    ...(files === undefined
      ? {}
      : { Attachments: files.map((file) => ({ ...file, Content: base64(file.Content) })) }),
  };
}

/** Base64 of bytes; a text counts as base64 already. */
export function base64(content: Uint8Array | string): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (let at = 0; at < content.length; at += CHUNK) {
    text += String.fromCharCode(...content.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

function instantText(value: Date | string | number): string | number {
  return value instanceof Date ? value.toISOString() : value;
}
