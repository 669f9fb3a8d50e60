/** The terminal itself: its head, screen, keys and slot, and the paper that comes out of it. */
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { useTranslate } from '../../../locales/index.ts';
import { DeviceFrame } from '../terminal-frame.tsx';
import type { Key, Screen as Shown } from './terminal/terminal-panel.ts';
import { Screen } from './terminal-screen.tsx';
import type { UsedStation } from './use-nexo-session.ts';

const digits: readonly Key[] = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
const typing: readonly Shown['state'][] = ['Pin', 'Number'];
const waiting: readonly Shown['state'][] = [...typing, 'Card', 'Signature'];
const keyOfKeyboard: Readonly<Record<string, Key>> = {
  Enter: 'Ok',
  Backspace: 'Clear',
  Escape: 'Cancel',
};

/** Whoever is asked for something has it under their hands. */
function useHands(state: Shown['state'], press: (key: Key) => void) {
  const device = useRef<HTMLElement>(null);
  useEffect(() => {
    if (typing.includes(state)) device.current?.focus({ preventScroll: true });
  }, [state]);
  function onKeyDown(event: KeyboardEvent): void {
    const isButton = event.target instanceof HTMLButtonElement;
    // Enter and blank press the button that has the focus.
    if (event.ctrlKey || event.metaKey || (isButton && event.key === 'Enter')) return;
    const isDigit = /^\d$/.test(event.key);
    const key = isDigit ? (event.key as Key) : keyOfKeyboard[event.key];
    if (key === undefined || !waiting.includes(state)) return;
    event.preventDefault();
    press(key);
  }
  return { device, onKeyDown };
}

export function Device({ used: { station, view } }: { readonly used: UsedStation }) {
  const t = useTranslate('virtual-terminal');
  const { screen, tsn, link, till } = view;
  const { device, onKeyDown } = useHands(screen.state, station.press);
  const receipt = screen.state === 'Approved' ? (till.ended?.receipt ?? []) : [];
  const isOnline = link.state === 'Online';
  return (
    <div className="sy-pos-stand">
      <DeviceFrame
        label={t('nexo.terminal')}
        state={screen.state}
        frame={device}
        onKeyDown={onKeyDown}
        screen={
          <Screen
            screen={screen}
            onSign={station.sign}
            bar={
              <div className="sy-pos-bar">
                <span className="sy-cut">{tsn ?? '…'}</span>
                <span className="sy-pos-signal" data-online={isOnline}>
                  {t(`nexo.link.short.${isOnline ? 'online' : 'offline'}`)}
                </span>
              </div>
            }
          />
        }
        keys={
          <div className="sy-pos-hands">
            <Keypad state={screen.state} press={station.press} />
            <Paper lines={receipt} />
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
  readonly state: Shown['state'];
  readonly press: (key: Key) => void;
}) {
  const t = useTranslate('virtual-terminal');
  const isTyping = typing.includes(state);
  return (
    <div className="sy-pos-keys">
      {[...digits, '0' as Key].map((key) => (
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

/** The customer's copy, in the words of the printer: over the keys, which nobody needs at that moment. */
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
