/** The keys and the words of the search, to look up. */
import { Dialog } from '../../components/dialog.tsx';
import { SEARCH_HELP } from './search-words.ts';
import { KEY_HELP } from './use-keys.ts';

export function KeysHelp({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys and search" onClose={onClose}>
      <dl className="grid grid-cols-[4rem_1fr] items-center gap-x-3 gap-y-1.5">
        {KEY_HELP.map(([key, meaning]) => (
          <div key={key} className="contents">
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <h3 className="mt-4 mb-2 font-semibold">Search</h3>
      <dl className="grid gap-1.5">
        {SEARCH_HELP.map(([words, meaning]) => (
          <div key={words} className="flex flex-wrap gap-x-2">
            <dt className="font-mono text-xs">{words}</dt>
            <dd className="text-soft">{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
