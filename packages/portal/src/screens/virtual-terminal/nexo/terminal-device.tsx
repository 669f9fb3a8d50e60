/** The terminal: screen, keys, card slot and receipt. */
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { useTranslate } from '../../../locales/index.ts';
import { TerminalFrame } from '../terminal-frame.tsx';
import { TerminalScreen } from './terminal-screen.tsx';
import type { SimulatedTerminal } from './use-simulated-terminal.ts';
import {
  digitKeys,
  type TerminalDisplay,
  type TerminalKey,
  type useTerminalKeys,
} from './use-terminal-keys.ts';

type Press = (key: TerminalKey) => void;

const typing: readonly TerminalDisplay['state'][] = ['Pin', 'Number'];
const waiting: readonly TerminalDisplay['state'][] = [...typing, 'Card', 'Signature'];
const keyOfKeyboard: Readonly<Record<string, TerminalKey>> = {
  Enter: 'Ok',
  Backspace: 'Clear',
  Escape: 'Cancel',
};

/** Moves the keyboard focus to the terminal when it waits for input. */
function useKeyboard(state: TerminalDisplay['state'], press: Press) {
  const device = useRef<HTMLElement>(null);
  useEffect(() => {
    if (typing.includes(state)) device.current?.focus({ preventScroll: true });
  }, [state]);
  function onKeyDown(event: KeyboardEvent): void {
    const isButton = event.target instanceof HTMLButtonElement;
    // Enter and Space activate the focused button.
    if (event.ctrlKey || event.metaKey || (isButton && event.key === 'Enter')) return;
    const isDigit = /^\d$/.test(event.key);
    const key = isDigit ? (event.key as TerminalKey) : keyOfKeyboard[event.key];
    if (key === undefined || !waiting.includes(state)) return;
    event.preventDefault();
    press(key);
  }
  return { device, onKeyDown };
}

export function TerminalDevice({
  view,
  keys: { display, press, sign },
  receipt,
}: {
  readonly view: SimulatedTerminal['view'];
  readonly keys: ReturnType<typeof useTerminalKeys>;
  /** The customer receipt of the last payment. */
  readonly receipt: readonly string[];
}) {
  const t = useTranslate('virtual-terminal');
  const { state } = display;
  const { device, onKeyDown } = useKeyboard(state, press);
  const isOnline = view?.connection === 'Online';
  return (
    <div className="sy-pos-stand">
      <TerminalFrame
        label={t('nexo.terminal')}
        state={state}
        frame={device}
        onKeyDown={onKeyDown}
        screen={
          <TerminalScreen
            display={display}
            onSign={sign}
            bar={
              <div className="sy-pos-bar">
                <span className="sy-cut">{view?.tsn ?? '…'}</span>
                <span className="sy-pos-signal" data-online={isOnline}>
                  {t(`nexo.link.short.${isOnline ? 'online' : 'offline'}`)}
                </span>
              </div>
            }
          />
        }
        keys={
          <div className="sy-pos-hands">
            <Keypad state={state} press={press} />
            <Paper lines={state === 'Approved' ? receipt : []} />
          </div>
        }
      />
    </div>
  );
}

function Keypad({
  state,
  press,
}: {
  readonly state: TerminalDisplay['state'];
  readonly press: Press;
}) {
  const t = useTranslate('virtual-terminal');
  const isTyping = typing.includes(state);
  return (
    <div className="sy-pos-keys">
      {digitKeys.map((key) => (
        <button
          key={key}
          type="button"
          data-key={key}
          disabled={!isTyping}
          onClick={() => press(key)}
        >
          {key}
        </button>
      ))}
      <button
        type="button"
        data-key="Cancel"
        disabled={!waiting.includes(state)}
        onClick={() => press('Cancel')}
      >
        {t('nexo.keys.Cancel')}
      </button>
      <button type="button" data-key="Clear" disabled={!isTyping} onClick={() => press('Clear')}>
        {t('nexo.keys.Clear')}
      </button>
      <button type="button" data-key="Ok" disabled={!isTyping} onClick={() => press('Ok')}>
        {t('nexo.keys.Ok')}
      </button>
    </div>
  );
}

/** The customer receipt, shown over the keys. */
function Paper({ lines }: { readonly lines: readonly string[] }) {
  const t = useTranslate('virtual-terminal');
  if (lines.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what is longer than the keys are high is scrolled, by keys too
    <section className="sy-pos-paper" aria-label={t('nexo.receipt')} tabIndex={0}>
      <pre>{lines.join('\n')}</pre>
    </section>
  );
}
