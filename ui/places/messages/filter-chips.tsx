/** What narrows the list, each as a chip: where mail stands and since when to choose from, the other words to take away. */
import { ChevronDown, X } from 'lucide-react';
import { Menu } from '../../components/menu.tsx';
import { Status, statusName } from '../../components/status.tsx';
import { type Search, STATUSES, withoutWord, withWord } from './search-words.ts';

const TIMES = [
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;
const CHIP =
  'inline-flex min-h-7 max-w-full items-center gap-1 rounded-full border px-2.5 text-xs hover:bg-hover';

export function FilterChips({
  search,
  text,
  onText,
}: {
  search: Search;
  text: string;
  onText(text: string): void;
}) {
  const { Status: status, Since: since } = search.filters;
  const sinceWord = search.words.find(({ name }) => name === 'since')?.value;
  const others = search.words.filter(({ name, typed }) =>
    name === '' ? typed.includes('@') : name !== 'status' && name !== 'since',
  );
  return (
    <div className="flex flex-wrap items-center gap-1.5 px-3 pb-2">
      <Menu
        align="start"
        trigger={
          <button type="button" className={`${CHIP} ${status === undefined ? EMPTY : SET}`}>
            {status === undefined ? 'Any status' : statusName(String(status))}
            <ChevronDown size={12} aria-hidden />
          </button>
        }
        entries={[
          {
            name: 'Any status',
            run: () => onText(withWord(text, 'status', null)),
            isCurrent: status === undefined,
          },
          ...STATUSES.map((word) => ({
            label: statusName(word),
            name: <Status status={word} />,
            run: () => onText(withWord(text, 'status', word.toLowerCase())),
            isCurrent: status === word,
          })),
        ]}
      />
      <Menu
        align="start"
        trigger={
          <button type="button" className={`${CHIP} ${since === undefined ? EMPTY : SET}`}>
            {since === undefined
              ? 'Any time'
              : (TIMES.find(([age]) => age === sinceWord)?.[1] ?? `Since ${sinceWord}`)}
            <ChevronDown size={12} aria-hidden />
          </button>
        }
        entries={[
          {
            name: 'Any time',
            run: () => onText(withWord(text, 'since', null)),
            isCurrent: since === undefined,
          },
          ...TIMES.map(([age, name]) => ({
            name,
            run: () => onText(withWord(text, 'since', age)),
            isCurrent: sinceWord === age,
          })),
        ]}
      />
      {others.map(({ typed }) => (
        <button
          key={typed}
          type="button"
          aria-label={`Remove ${typed}`}
          title={`Remove ${typed}`}
          onClick={() => onText(withoutWord(text, typed))}
          className={`${CHIP} ${SET}`}
        >
          <bdi className="truncate">{typed}</bdi>
          <X size={12} aria-hidden className="shrink-0" />
        </button>
      ))}
    </div>
  );
}

const EMPTY = 'border-line-strong text-soft';
const SET = 'border-accent bg-chosen';
