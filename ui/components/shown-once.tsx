/** A secret that is shown this once: with a button that copies it, and what to do with it. */
import type { ReactNode } from 'react';
import { Button, takeLostFocus } from './button.tsx';
import { CodeBlock } from './copy.tsx';

export function ShownOnce({
  what,
  text,
  children,
  onClose,
}: {
  /** `token`, `password`. */
  what: string;
  text: string;
  children?: ReactNode;
  onClose(): void;
}) {
  return (
    <div data-shown-once className="grid gap-4">
      <p ref={takeLostFocus} tabIndex={-1} className="outline-none">
        Copy the {what} now: it is not shown again.
      </p>
      <CodeBlock text={text} label={`Copy the ${what}`} />
      {children}
      <Button look="main" className="justify-self-end" onClick={onClose}>
        I have copied it
      </Button>
    </div>
  );
}
