/** A dialog over the page: the browser's own, which keeps the focus inside and closes with Esc. */
import { X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { IconButton } from './button.tsx';

export function Dialog({
  title,
  children,
  onClose,
}: {
  title: string;
  children: ReactNode;
  onClose(): void;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={box}
      aria-label={title}
      onCancel={onClose}
      onClose={onClose}
      className="w-[calc(100%-2rem)] max-w-md rounded-lg border border-line-strong bg-raised p-4"
    >
      <div className="mb-3 flex items-center justify-between">
        <h2 className="font-semibold text-base">{title}</h2>
        <IconButton label="Close" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      {children}
    </dialog>
  );
}
