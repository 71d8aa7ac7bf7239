/** What a list is searched by: told once nobody types for a moment, and as it changes elsewhere. */
import { Search } from 'lucide-react';
import { type ComponentProps, type Ref, useEffect, useState } from 'react';

const TYPING_MS = 250;

export function SearchBox({
  ref,
  words,
  label,
  placeholder = 'Search',
  isWrong = false,
  onWords,
}: {
  ref: Ref<HTMLInputElement>;
  words: string;
  label: string;
  placeholder?: string;
  isWrong?: boolean;
  onWords(words: string): void;
}) {
  const [typed, setTyped] = useState(words);
  useEffect(() => setTyped(words), [words]);
  useEffect(() => {
    if (typed === words) return;
    const timer = setTimeout(() => onWords(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, words, onWords]);
  return (
    <SearchInput
      ref={ref}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onEnter={() => onWords(typed)}
      placeholder={placeholder}
      aria-label={label}
      aria-invalid={isWrong}
    />
  );
}

/** The box alone, for what is searched in the page itself. Esc leaves it; `/` is the place's own key for it. */
export function SearchInput({ onEnter, ...rest }: ComponentProps<'input'> & { onEnter(): void }) {
  return (
    <div className="relative min-w-0 flex-1">
      <Search size={14} aria-hidden className="absolute top-2.25 left-2.5 text-soft" />
      <input
        type="search"
        aria-keyshortcuts="/"
        {...rest}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') onEnter();
          if (key === 'Escape') currentTarget.blur();
        }}
        className="h-8 w-full text-ellipsis rounded-md border border-line-strong bg-page pr-2 pl-8 aria-invalid:border-bad"
      />
    </div>
  );
}
