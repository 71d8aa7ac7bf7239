/** What is looked for among the changes: by whom, what kind, from day to day. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { SearchBox, useTyping } from '../../../components/search-box.tsx';
import { OPERATIONS } from './audit-words.ts';

const BOX = 'h-8 rounded-md border border-line-strong bg-page px-2.5';

export function AuditFilters() {
  const { who = '', operation = '', since = '', until = '' } = useSearch({ from: '/access' });
  const navigate = useNavigate({ from: '/access' });
  const set = (name: 'who' | 'operation' | 'since' | 'until', value: string, replace = false): void =>
    void navigate({
      search: ({ [name]: _, ...before }) => ({ ...before, ...(value === '' ? {} : { [name]: value }) }),
      replace,
    });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="flex min-w-0 flex-1 basis-56">
        <SearchBox
          words={who}
          label="Who: email address, name of a token, or id"
          placeholder="Who: email address or name of a token"
          onWords={(words, goesOn) => set('who', words.trim(), goesOn)}
        />
      </div>
      <select
        aria-label="What was done"
        value={operation}
        onChange={({ target }) => set('operation', target.value)}
        className={`${BOX} min-w-0 flex-1 basis-40`}
      >
        <option value="">any change</option>
        {OPERATIONS.map(([id, words]) => (
          <option key={id} value={id}>
            {words}
          </option>
        ))}
      </select>
      <div className="flex flex-wrap gap-2">
        <DayField name="from" day={since} onDay={(day, goesOn) => set('since', day, goesOn)} />
        <DayField name="to" day={until} onDay={(day, goesOn) => set('until', day, goesOn)} />
      </div>
    </div>
  );
}

/** While a year is typed, each digit makes another date (`0002`, `0020`, `0202`, `2026`): all of them are one step of the history. */
function DayField(props: { name: string; day: string; onDay(day: string, goesOn?: boolean): void }) {
  const { name, day, onDay } = props;
  const typing = useTyping(day, onDay);
  return (
    <label className="flex items-center gap-1.5 text-soft">
      {name}
      <input
        type="date"
        value={day}
        onChange={({ target }) => typing.tell(target.value)}
        onBlur={typing.end}
        className={`${BOX} text-ink`}
      />
    </label>
  );
}
