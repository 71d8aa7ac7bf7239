/** A command that sends the same message again. Pure. */
import type { MessageWithContents, NamedAddress } from '../../../../src/client/api-types.ts';
import { curlCommand } from '../../../components/curl.ts';

export function curlText(message: MessageWithContents, origin: string): string {
  const { HTMLContent, PlainContent, Tags, Metadata, Attachments, ReplyTo, Priority, Sandbox } = message;
  const lists = { To: message.To, CC: message.CC, BCC: message.BCC, ReplyTo };
  const body = {
    From: addressOf(message.From),
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, list]) =>
        list.length === 0 ? [] : [[name, list.map(addressOf)]],
      ),
    ),
    Subject: message.Subject,
    ContentType: HTMLContent === null ? 'Text' : 'HTML',
    ...(HTMLContent === null ? {} : { HTMLContent }),
    ...(PlainContent === null ? {} : { PlainContent }),
    ...(Tags.length === 0 ? {} : { Tags }),
    ...(Object.keys(Metadata).length === 0 ? {} : { Metadata }),
    Priority,
    ...(Sandbox ? { Sandbox } : {}),
  };
  const files = Attachments?.length ?? 0;
  return [
    ...(files === 0 ? [] : [`# Without its ${files === 1 ? 'attachment' : `${files} attachments`}.`]),
    curlCommand(origin, body),
  ].join('\n');
}

function addressOf({ Name, Email }: NamedAddress): { name?: string; email: string } {
  return { ...(Name === '' ? {} : { name: Name }), email: Email };
}
