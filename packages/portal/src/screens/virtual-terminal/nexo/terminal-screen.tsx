/** The content of the terminal screen. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from '../../../components/icon.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { useFormats } from '../../../session/use-session.ts';
import { groupCardDigits } from '../simulated-outcomes.ts';
import { ContactlessSymbol, type ScreenTone } from '../terminal-frame.tsx';
import { SignaturePad } from './signature-pad.tsx';
import { type MoneyAmount, pinTries, type ScreenState } from './terminal/terminal-panel.ts';

const icons: Readonly<Record<ScreenState['state'], IconName>> = {
  Idle: 'store',
  Starting: 'refresh',
  Off: 'offline',
  Card: 'payments',
  Number: 'edit',
  Pin: 'key',
  Signature: 'edit',
  Busy: 'refresh',
  Approved: 'check',
  Reversed: 'refund',
  Declined: 'close',
};
const tones: Partial<Readonly<Record<ScreenState['state'], ScreenTone>>> = {
  Starting: 'busy',
  Busy: 'busy',
  Approved: 'good',
  Reversed: 'good',
  Declined: 'bad',
};

function Amount({ sum }: { readonly sum: MoneyAmount | undefined }) {
  const formats = useFormats();
  if (sum === undefined) return null;
  return <p className="sy-pos-amount">{formats.money(sum.amount, sum.currency)}</p>;
}

function Detail({ screen, onSign }: { readonly screen: ScreenState; readonly onSign: () => void }) {
  const t = useTranslate('virtual-terminal');
  switch (screen.state) {
    case 'Card':
      return (
        <p className="sy-pos-text">
          {t(screen.hint === 'Insert' ? 'nexo.screen.insertText' : 'nexo.screen.cardText')}
        </p>
      );
    case 'Number':
      return (
        <>
          <p className="sy-pos-digits">{groupCardDigits(screen.digits) || '–'}</p>
          {screen.isWrong && <p className="sy-pos-warning">{t('nexo.screen.wrongNumber')}</p>}
        </>
      );
    case 'Pin':
      return (
        <>
          <p className="sy-unseen">{t('nexo.screen.typed', { count: screen.typed })}</p>
          <p className="sy-pos-dots" aria-hidden="true">
            {Array.from({ length: Math.max(4, screen.typed) }, (_, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: dots without a content of their own
              <span key={at} data-typed={at < screen.typed} />
            ))}
          </p>
          {screen.triesLeft < pinTries && (
            <p className="sy-pos-warning">
              {t('nexo.screen.wrongPin', { count: screen.triesLeft })}
            </p>
          )}
        </>
      );
    case 'Signature':
      return <SignaturePad onSign={onSign} />;
    case 'Declined':
      return <p className="sy-pos-text sy-broken">{screen.condition}</p>;
    default:
      return null;
  }
}

function titleOf(screen: ScreenState): string {
  return screen.state === 'Card' && screen.hint === 'Insert' ? 'Insert' : screen.state;
}

export function TerminalScreen({
  screen,
  bar,
  onSign,
}: {
  readonly screen: ScreenState;
  /** The top line of the screen. */
  readonly bar: ReactNode;
  readonly onSign: () => void;
}) {
  const t = useTranslate('virtual-terminal');
  const { state } = screen;
  const sum = 'sum' in screen ? screen.sum : undefined;
  return (
    <div className="sy-pos-screen" data-tone={tones[state] ?? 'plain'} data-state={state}>
      {bar}
      <div className="sy-pos-content" aria-live="polite">
        {state !== 'Signature' && (
          <span className="sy-pos-icon">
            {state === 'Card' && screen.hint === undefined ? (
              <ContactlessSymbol size={34} />
            ) : (
              <Icon name={icons[state]} size={30} />
            )}
          </span>
        )}
        <Amount sum={sum} />
        <p className="sy-pos-title">{t(`nexo.screen.${titleOf(screen)}`)}</p>
        <Detail screen={screen} onSign={onSign} />
      </div>
    </div>
  );
}
