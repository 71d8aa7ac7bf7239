/** What is looked for among the changes: by whom, what kind, from day to day. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { SearchBox } from '../../../components/search-box.tsx';
import { OPERATIONS } from './audit-words.ts';

const BOX = 'h-8 rounded-md border border-line-strong bg-page px-2.5';

export function AuditFilters() {
  const { who = '', operation = '', since = '', until = '' } = useSearch({ from: '/access' });
  const navigate = useNavigate({ from: '/access' });
  const set = (name: 'who' | 'operation' | 'since' | 'until', value: string): void =>
    void navigate({
      search: ({ [name]: _, ...before }) => ({ ...before, ...(value === '' ? {} : { [name]: value }) }),
      replace: true,
    });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="flex min-w-0 flex-1 basis-56">
        <SearchBox
          words={who}
          label="Who: email address, name of a token, or id"
          placeholder="Who: email address or name of a token"
          onWords={(words) => set('who', words.trim())}
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
        {(['since', 'until'] as const).map((name) => (
          <label key={name} className="flex items-center gap-1.5 text-soft">
            {name === 'since' ? 'from' : 'to'}
            <input
              type="date"
              value={name === 'since' ? since : until}
              onChange={({ target }) => set(name, target.value)}
              className={`${BOX} text-ink`}
            />
          </label>
        ))}
      </div>
    </div>
  );
}
