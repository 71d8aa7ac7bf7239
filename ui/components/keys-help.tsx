/** The keys of a place and the words of its search, to look up. */
import { Dialog } from './dialog.tsx';

/** What is typed, and what it does or finds. */
export type Help = readonly (readonly [typed: string, meaning: string])[];

export function KeysHelp({ keys, words, onClose }: { keys: Help; words: Help; onClose(): void }) {
  return (
    <Dialog title="Keys and search" onClose={onClose}>
      <dl className="grid grid-cols-[4rem_1fr] items-center gap-x-3 gap-y-1.5">
        {keys.map(([key, meaning]) => (
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
        {words.map(([typed, meaning]) => (
          <div key={typed} className="flex flex-wrap gap-x-2">
            <dt className="font-mono text-xs">{typed}</dt>
            <dd className="text-soft">{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
