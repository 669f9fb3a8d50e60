/** The terminal: screen, keys, card slot and receipt. */
import { toMinorUnits } from '@switchyard/nexo';
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react';
import { Icon, type IconName } from '../../../components/icon.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { useFormats } from '../../../session/use-session.ts';
import { groupCardDigits } from '../simulated-outcomes.ts';
import { ContactlessSymbol, type ScreenTone, TerminalFrame } from '../terminal-frame.tsx';
import type { SimulatedTerminal } from './use-terminal-control.ts';
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

const icons: Readonly<Record<TerminalDisplay['state'], IconName>> = {
  Idle: 'store',
  Starting: 'refresh',
  Off: 'offline',
  Card: 'payments',
  Number: 'edit',
  Pin: 'key',
  Signature: 'edit',
  Busy: 'refresh',
  Message: 'info',
  Approved: 'check',
  Reversed: 'refund',
  Declined: 'close',
};
const tones: Partial<Readonly<Record<TerminalDisplay['state'], ScreenTone>>> = {
  Starting: 'busy',
  Busy: 'busy',
  Approved: 'good',
  Reversed: 'good',
  Declined: 'bad',
};

/** The terminal shows an amount as `12.50 EUR`. */
const amountLine = /^(\d+(?:\.\d+)?) ([A-Z]{3})$/;

function Amount({ line = '' }: { readonly line: string | undefined }) {
  const formats = useFormats();
  const [, amount, currency] = amountLine.exec(line) ?? [];
  if (amount === undefined || currency === undefined) return null;
  return (
    <p className="sy-pos-amount">
      {formats.money(toMinorUnits(Number(amount), currency), currency)}
    </p>
  );
}

function Detail({
  display,
  onSign,
}: {
  readonly display: TerminalDisplay;
  readonly onSign: () => void;
}) {
  const t = useTranslate('virtual-terminal');
  const { lines, typed, pinTriesLeft } = display;
  switch (display.state) {
    case 'Card':
      return (
        <p className="sy-pos-text">
          {t(isChipOnly(display) ? 'nexo.screen.insertText' : 'nexo.screen.cardText')}
        </p>
      );
    case 'Number':
      return (
        <>
          <p className="sy-pos-digits">{groupCardDigits(typed) || '–'}</p>
          {display.isWrongNumber && (
            <p className="sy-pos-warning">{t('nexo.screen.wrongNumber')}</p>
          )}
        </>
      );
    case 'Pin':
      return (
        <>
          <p className="sy-unseen">{t('nexo.screen.typed', { count: typed.length })}</p>
          <p className="sy-pos-dots" aria-hidden="true">
            {Array.from({ length: Math.max(4, typed.length) }, (_, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: dots without a content of their own
              <span key={at} data-typed={at < typed.length} />
            ))}
          </p>
          {pinTriesLeft !== undefined && (
            <p className="sy-pos-warning">{t('nexo.screen.wrongPin', { count: pinTriesLeft })}</p>
          )}
        </>
      );
    case 'Signature':
      return <SignaturePad onSign={onSign} />;
    case 'Declined':
    case 'Message':
      return <p className="sy-pos-text sy-broken">{lines.join(' · ').replaceAll('_', ' ')}</p>;
    default:
      return null;
  }
}

const isChipOnly = ({ entries }: TerminalDisplay): boolean =>
  entries.length === 1 && entries[0] === 'Chip';

function TerminalScreen({
  display,
  bar,
  onSign,
}: {
  readonly display: TerminalDisplay;
  /** The top line of the screen. */
  readonly bar: ReactNode;
  readonly onSign: () => void;
}) {
  const t = useTranslate('virtual-terminal');
  const { state, lines } = display;
  const isInsert = state === 'Card' && isChipOnly(display);
  return (
    <div className="sy-pos-screen" data-tone={tones[state] ?? 'plain'} data-state={state}>
      {bar}
      <div className="sy-pos-content" aria-live="polite">
        {state !== 'Signature' && (
          <span className="sy-pos-icon">
            {state === 'Card' && !isInsert ? (
              <ContactlessSymbol size={34} />
            ) : (
              <Icon name={icons[state]} size={30} />
            )}
          </span>
        )}
        <Amount line={lines[0]} />
        {state !== 'Message' && (
          <p className="sy-pos-title">{t(`nexo.screen.${isInsert ? 'Insert' : state}`)}</p>
        )}
        <Detail display={display} onSign={onSign} />
      </div>
    </div>
  );
}

type Point = readonly [x: number, y: number];

const width = 240;
const height = 90;
const pointsMost = 2_000;

function SignaturePad({ onSign }: { readonly onSign: () => void }) {
  const t = useTranslate('virtual-terminal');
  const [strokes, setStrokes] = useState<readonly (readonly Point[])[]>([]);
  const isDrawing = useRef(false);

  function pointOf({ currentTarget, clientX, clientY }: PointerEvent<SVGSVGElement>): Point {
    const box = currentTarget.getBoundingClientRect();
    return [
      Math.round(((clientX - box.left) / box.width) * width),
      Math.round(((clientY - box.top) / box.height) * height),
    ];
  }

  function begin(event: PointerEvent<SVGSVGElement>): void {
    isDrawing.current = true;
    event.currentTarget.setPointerCapture(event.pointerId);
    setStrokes([...strokes, [pointOf(event)]]);
  }

  function go(event: PointerEvent<SVGSVGElement>): void {
    if (!isDrawing.current || strokes.flat().length > pointsMost) return;
    setStrokes([...strokes.slice(0, -1), [...(strokes.at(-1) ?? []), pointOf(event)]]);
  }

  return (
    <div className="sy-pos-sign">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={t('nexo.screen.signHere')}
        onPointerDown={begin}
        onPointerMove={go}
        onPointerUp={() => {
          isDrawing.current = false;
        }}
      >
        <line x1="12" y1="72" x2={width - 12} y2="72" />
        {strokes.map((points, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: strokes in the order in which they were drawn
          <polyline key={at} points={points.map((point) => point.join(',')).join(' ')} />
        ))}
      </svg>
      <button type="button" onClick={onSign}>
        {t('nexo.screen.sign')}
      </button>
    </div>
  );
}
