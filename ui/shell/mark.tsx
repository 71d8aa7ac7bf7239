/** The logo of the program, as in mark.svg, in the colours of the theme. */
export function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
      <rect width="24" height="24" rx="6" className="fill-accent-fill" />
      <path
        d="M5.5 8.5 12 13.2l6.5-4.7M5.5 8h13v8.5h-13z"
        className="fill-none stroke-on-accent"
        strokeWidth="1.7"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
