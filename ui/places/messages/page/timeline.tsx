/** What happened, oldest first. An attempt unfolds to what the two servers said to each other. */
import type { TimelineEntry } from '../../../../src/client/api-types.ts';
import { Instant, Until } from '../../../components/time.tsx';
import { conversationLines, entryFacts, entryTitle, isPlanOpen, plannedWords } from './entry-words.ts';
import { isOwnWord } from './findings.ts';

const DOTS: Readonly<Record<string, string>> = { Info: 'bg-accent', Warn: 'bg-warn', Error: 'bg-bad' };

/** `said`: sentences that stand above and are not repeated. */
export function Timeline({
  entries,
  said,
}: {
  entries: readonly TimelineEntry[];
  said: ReadonlySet<string>;
}) {
  return (
    <ol className="ml-1.5 border-line border-l">
      {entries.map((entry, place) => (
        <Entry
          key={entry.EventID}
          entry={entry}
          said={said}
          isPlanOpen={isPlanOpen(entry, entries.slice(place + 1))}
        />
      ))}
    </ol>
  );
}

function Entry({
  entry,
  said,
  isPlanOpen,
}: {
  entry: TimelineEntry;
  said: ReadonlySet<string>;
  isPlanOpen: boolean;
}) {
  const { Event, At, LogLevel, Reason, Reply, Explanation, NextAttemptAt, Conversation = '', URL } = entry;
  const facts = entryFacts(entry);
  const reply = isOwnWord(Reply) ? '' : Reply;
  const dot = Event !== 'delivered' ? DOTS[LogLevel] : entry.Route === 'sandbox' ? 'bg-kept' : 'bg-good';
  return (
    <li className="relative grid gap-0.5 pb-3 pl-4 last:pb-0">
      <span
        className={`absolute top-1.5 -left-[4.5px] size-2 rounded-full forced-color-adjust-none ${dot}`}
        aria-hidden
      />
      <div className="flex flex-wrap items-baseline gap-x-2">
        <span className="font-semibold">{entryTitle(entry)}</span>
        <Instant at={At} className="text-soft text-xs" />
      </div>
      {facts.length > 0 && <p className="text-soft text-xs">{facts.join(' · ')}</p>}
      {reply !== '' && (
        <p dir="auto" className="font-mono text-xs leading-5">
          {reply}
        </p>
      )}
      {Reason !== '' && !said.has(Reason) && !Reason.includes(Reply === '' ? '\n' : Reply) && (
        <p dir="auto" className="max-w-prose">
          {Reason}
        </p>
      )}
      {Explanation !== '' && !said.has(Explanation) && <p className="max-w-prose">{Explanation}</p>}
      {URL !== '' && (
        <p dir="ltr" className="font-mono text-soft text-xs">
          {URL}
        </p>
      )}
      {entry.PossibleDuplicate && (
        <p className="text-warn">
          It may have arrived twice: an attempt before this one ended without an answer.
        </p>
      )}
      {NextAttemptAt !== null && isPlanOpen && (
        <p className="text-soft">
          <Until at={NextAttemptAt} {...plannedWords(Event)} />
        </p>
      )}
      {Conversation !== '' && <ConversationText text={Conversation} />}
    </li>
  );
}

function ConversationText({ text }: { text: string }) {
  return (
    <details>
      <summary className="w-fit text-accent text-xs underline-offset-2 hover:underline">
        SMTP conversation
      </summary>
      <div className="mt-1 max-h-96 overflow-auto rounded-md border border-line bg-page p-2">
        <table className="font-mono text-xs leading-5">
          <thead className="sr-only">
            <tr>
              <th>After</th>
              <th>Who</th>
              <th>Said</th>
            </tr>
          </thead>
          <tbody dir="ltr">
            {conversationLines(text).map(({ at, who, said }, index) => (
              <tr key={`${String(index)} ${said}`} className="align-top">
                <td className="whitespace-nowrap pr-3 text-right text-soft tabular-nums">{at}</td>
                <td className="pr-2">
                  <span className="text-soft" title={who === 'client' ? 'This server' : 'The other server'}>
                    {who === '' ? '' : who === 'client' ? '→' : '←'}
                    <span className="sr-only">{who === 'client' ? 'This server' : 'The other server'}</span>
                  </span>
                </td>
                <td className={who === 'server' ? '' : 'text-soft'}>{said}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
