/** Lines of a form: the name, what is typed or chosen, what it means, and what was refused about it. */
import { type ComponentProps, type ReactNode, useId } from 'react';

interface Said {
  label: string;
  hint?: string | undefined;
  /** Why the last value was refused. */
  error?: string | undefined;
}

const BOX = 'min-h-9 w-full rounded-md border bg-surface px-3';
const EDGE = (error: string | undefined) => (error === undefined ? 'border-line-strong' : 'border-bad');

/** A line of text. */
export function Field({ label, hint, error, ...rest }: ComponentProps<'input'> & Said) {
  const id = useId();
  return (
    <Line id={id} label={label} hint={hint} error={error}>
      <input {...rest} {...described(id, hint, error)} className={`${BOX} ${EDGE(error)}`} />
    </Line>
  );
}

/** Several lines of text. */
export function TextField({ label, hint, error, ...rest }: ComponentProps<'textarea'> & Said) {
  const id = useId();
  return (
    <Line id={id} label={label} hint={hint} error={error}>
      <textarea {...rest} {...described(id, hint, error)} className={`${BOX} py-1.5 ${EDGE(error)}`} />
    </Line>
  );
}

/** One of several; `children`: its options. */
export function SelectField({ label, hint, error, ...rest }: ComponentProps<'select'> & Said) {
  const id = useId();
  return (
    <Line id={id} label={label} hint={hint} error={error}>
      <select {...rest} {...described(id, hint, error)} className={`${BOX} ${EDGE(error)}`} />
    </Line>
  );
}

/** The options of a choice: value and name of each. */
export function Options({ of }: { of: readonly (readonly [value: string, name: string])[] }) {
  return of.map(([value, name]) => (
    <option key={value} value={value}>
      {name}
    </option>
  ));
}

/** Yes or no. */
export function CheckField({ label, hint, error, ...rest }: Omit<ComponentProps<'input'>, 'type'> & Said) {
  const id = useId();
  return (
    <div className="grid grid-cols-[auto_minmax(0,1fr)] items-start gap-x-2">
      <input
        {...rest}
        {...described(id, hint, error)}
        type="checkbox"
        className="mt-0.5 size-4 accent-accent-fill pointer-coarse:mt-3.5"
      />
      {/* One of many in a list is not its heading. */}
      <label htmlFor={id} className={`pointer-coarse:py-3 ${hint === undefined ? '' : 'font-semibold'}`}>
        {label}
      </label>
      <div className="col-start-2">
        <Remarks id={id} hint={hint} error={error} />
      </div>
    </div>
  );
}

function Line({ id, label, children, ...said }: Said & { id: string; children: ReactNode }) {
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="font-semibold">
        {label}
      </label>
      {children}
      <Remarks id={id} {...said} />
    </div>
  );
}

function Remarks({ id, hint, error }: Omit<Said, 'label'> & { id: string }) {
  return (
    <>
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-bad text-xs">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-soft text-xs">
          {hint}
        </p>
      )}
    </>
  );
}

function described(id: string, hint: string | undefined, error: string | undefined) {
  const by = [...(error === undefined ? [] : [`${id}-error`]), ...(hint === undefined ? [] : [`${id}-hint`])];
  return {
    id,
    ...(error === undefined ? {} : { 'aria-invalid': true }),
    ...(by.length === 0 ? {} : { 'aria-describedby': by.join(' ') }),
  };
}

/** What was refused, said to screen readers when it appears. */
export function FormError({ error }: { error: Error | null }) {
  if (error === null) return null;
  return (
    <p role="alert" className="rounded-md bg-bad-fill px-3 py-2 text-bad">
      {error.message}
    </p>
  );
}
