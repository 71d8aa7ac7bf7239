/** statuses.md: the statuses of mail, from the table that the API and the commands use. */
import { LIST_WORDS, MESSAGE_STATUSES, RECIPIENT_STATUSES } from '../../src/model/status.ts';
import { page, table } from './markdown.ts';

export function statusesPage(): string {
  const words = Object.entries({ ...RECIPIENT_STATUSES, ...LIST_WORDS });
  const rules = Object.entries(MESSAGE_STATUSES).map(([word, { when }]) => [`\`${word}\``, when]);
  return page(
    'Statuses',
    INTRO,
    '## Of a recipient',
    RECIPIENTS,
    table(
      ['Word', 'Means'],
      words.map(([word, meaning]) => [`\`${word}\``, meaning]),
    ),
    '## Of a message',
    MESSAGES,
    table(['`Status`', 'When'], rules),
    EXAMPLE,
  );
}

const INTRO = `The state of mail. Each recipient of a message has its own status, and the
status of the message follows from theirs. \`GET /email?Status=\` and \`postrider messages --status\` take every word of this page: they find
a message by its own word or by that of one of its recipients.`;

const RECIPIENTS = `\`Status\` of a recipient in \`GET /email/{MessageID}\` is one of these words, but for Captured: there such a recipient is
Delivered with \`Route\` \`sandbox\`. Lists (\`RecipientStatuses\`) and the commands tell the two apart.`;

const MESSAGES = `\`RecipientStatuses\` of a message counts its recipients by the words above, and is what \`postrider messages\` prints.
\`Status\` is one word for all of them: the first of these that fits.`;

const EXAMPLE = `A message to two addresses, one of which was refused: \`"Status": "PartiallyDelivered", "RecipientStatuses": {"Delivered": 1,
"Bounced": 1}\`; \`postrider messages\` prints \`Delivered 1, Bounced 1\`. A message whose only recipient was refused is \`"Status":
"Failed", "RecipientStatuses": {"Bounced": 1}\`, and is printed as \`Bounced\`.`;
