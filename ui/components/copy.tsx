/** Copies a text, and says so for a moment; and a command or a block of code with such a button. */
import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { toast } from './toasts.tsx';

const SAID_MS = 1_500;

export function CopyButton({ text, label, words }: { text: string; label: string; words?: string }) {
  const [done, setDone] = useState(false);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), SAID_MS);
    }, refused);
  };
  const Icon = done ? Check : Copy;
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={done ? 'Copied' : label}
      title={label}
      className={`inline-flex min-h-8 min-w-8 shrink-0 items-center justify-center gap-1.5 rounded-md print:hidden px-1.5 hover:bg-hover ${done ? 'text-good' : 'text-soft hover:text-ink'}`}
    >
      <Icon size={14} aria-hidden />
      {words}
    </button>
  );
}

/** Copies from a menu; `said` once it is done. */
export function copyText(text: string, said: string): void {
  navigator.clipboard.writeText(text).then(() => void toast({ text: said }), refused);
}

function refused(): void {
  toast({ text: 'The browser does not let this page copy: select the text instead' });
}

/** A command in a sentence. */
export function CommandText({ text }: { text: string }) {
  return (
    <>
      <code className="font-mono text-xs">{text}</code> <CopyButton text={text} label="Copy the command" />
    </>
  );
}

export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="relative rounded-md border border-line bg-page">
      <pre className="overflow-x-auto whitespace-pre-wrap p-3 pr-11 font-mono text-xs" dir="ltr">
        {text}
      </pre>
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label={label} />
      </div>
    </div>
  );
}
