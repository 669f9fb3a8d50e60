/** The frame of a payment terminal: lights, screen, keys and card slot. */
import type { KeyboardEvent, ReactNode, RefObject } from 'react';
import './terminal-frame.css';

export type ScreenTone = 'plain' | 'good' | 'bad' | 'busy';
const lamps = [1, 2, 3, 4];

/** The contactless symbol. */
export function ContactlessSymbol({ size = 22 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path
        d="M7 8.5a7 7 0 0 1 0 7M11 6a11 11 0 0 1 0 12M15 3.5a16 16 0 0 1 0 17"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
      />
    </svg>
  );
}

export function TerminalFrame({
  label,
  state,
  screen,
  keys,
  frame,
  onKeyDown,
}: {
  readonly label: string;
  /** The state of the lights. */
  readonly state: string;
  readonly screen: ReactNode;
  readonly keys: ReactNode;
  readonly frame?: RefObject<HTMLElement | null> | undefined;
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined;
}) {
  return (
    <section
      ref={frame}
      className="sy-pos"
      aria-label={label}
      data-state={state}
      tabIndex={frame === undefined ? undefined : -1}
      onKeyDown={onKeyDown}
    >
      <div className="sy-pos-head" aria-hidden="true">
        <span className="sy-pos-brand">switchyard</span>
        <span className="sy-pos-lamps">
          {lamps.map((lamp) => (
            <i key={lamp} />
          ))}
        </span>
        <ContactlessSymbol size={18} />
      </div>
      {screen}
      {keys}
      <span className="sy-pos-slot" aria-hidden="true" />
    </section>
  );
}

/** Decorative keys without function. */
export function DecorativeKeypad() {
  return (
    <div className="sy-pos-keys" aria-hidden="true">
      {[...'1234567890'].map((key) => (
        <span key={key} data-key={key}>
          {key}
        </span>
      ))}
      <span data-key="Cancel" />
      <span data-key="Clear" />
      <span data-key="Ok" />
    </div>
  );
}
