/** The picture of the terminal: what its screen says, the code that it shows, and the way onwards. */
import type { QrTransaction, Transaction } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Icon, type IconName } from '../../parts/icons.tsx';
import { useFormats } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import type { Terminal } from './use-terminal.ts';

type Tone = 'plain' | 'good' | 'bad' | 'busy';

function Screen({
  tone,
  icon,
  amount,
  title,
  text,
}: {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly amount?: string | undefined;
  readonly title: string;
  readonly text?: string | undefined;
}) {
  return (
    <div className="sy-vt-screen" data-tone={tone}>
      <span className="sy-vt-icon">
        <Icon name={icon} size={34} />
      </span>
      {amount !== undefined && <p className="sy-vt-amount">{amount}</p>}
      <p className="sy-vt-title">{title}</p>
      {text !== undefined && <p className="sy-broken">{text}</p>}
    </div>
  );
}

export function TerminalScreen({ terminal: { shown, fault } }: { readonly terminal: Terminal }) {
  const t = useWords('virtual-terminal');
  const formats = useFormats();
  return (
    <section className="sy-vt-device" aria-label={t('terminal')} aria-live="polite">
      {shown.step === 'ready' && (
        <Screen
          tone={fault === undefined ? 'plain' : 'bad'}
          icon={fault === undefined ? 'payments' : 'alert'}
          title={t(fault === undefined ? 'screen.ready' : 'screen.fault')}
        />
      )}
      {shown.step === 'busy' && (
        <Screen
          tone="busy"
          icon="refresh"
          amount={formats.money(shown.order.amount, shown.order.currency)}
          title={t('screen.busy')}
        />
      )}
      {shown.step === 'card' && <CardEnd payment={shown.payment} />}
      {shown.step === 'code' && <Code payment={shown.payment} />}
      <div className="sy-vt-keys" aria-hidden="true">
        {Array.from('123456789*0#', (key) => (
          <span key={key}>{key}</span>
        ))}
      </div>
      <span className="sy-vt-slot" aria-hidden="true" />
    </section>
  );
}

function CardEnd({ payment }: { readonly payment: Transaction }) {
  const t = useWords('virtual-terminal');
  const formats = useFormats();
  const { approved, amount, currency, response, transactionId, state } = payment;
  const isOpen = state === 'Reversing';
  return (
    <>
      <Screen
        tone={approved ? 'good' : 'bad'}
        icon={approved ? 'check' : 'close'}
        amount={formats.money(amount, currency)}
        title={t(approved ? 'screen.approved' : isOpen ? 'screen.reversing' : 'screen.declined')}
        text={approved ? payment.authorizationCode : response?.reason}
      />
      <Link className="sy-vt-link" to={`/payments/${transactionId}`}>
        {t('look')}
      </Link>
    </>
  );
}

const ended: Readonly<Record<string, Tone>> = {
  Completed: 'good',
  Authorized: 'good',
  Declined: 'bad',
  Cancelled: 'bad',
  Expired: 'bad',
  Failed: 'bad',
};

/** Pictures come from a provider: they are shown as pictures alone, in which no script runs. */
function pictureOf({ display }: QrTransaction): string | undefined {
  if (display?.type === 'image/png') return `data:image/png;base64,${display.data}`;
  if (display?.type !== 'image/svg+xml') return undefined;
  return display.data.startsWith('<')
    ? `data:image/svg+xml,${encodeURIComponent(display.data)}`
    : `data:image/svg+xml;base64,${display.data}`;
}

function Code({ payment }: { readonly payment: QrTransaction }) {
  const t = useWords('virtual-terminal');
  const words = useWords('payments');
  const formats = useFormats();
  const { status, paymentAmount, display, transactionId } = payment;
  const amount = formats.money(paymentAmount.amount, paymentAmount.currency);
  const tone = ended[status];
  const picture = pictureOf(payment);
  return (
    <>
      {tone === undefined && display !== undefined ? (
        <div className="sy-vt-screen" data-tone="plain">
          <p className="sy-vt-amount">{amount}</p>
          {picture !== undefined ? (
            <img src={picture} alt={t('code')} width="180" height="180" />
          ) : (
            <code className="sy-broken">{display.data}</code>
          )}
          <p className="sy-vt-title">{words(`states.${status}`)}</p>
        </div>
      ) : (
        <Screen
          tone={tone ?? 'busy'}
          icon={tone === 'good' ? 'check' : tone === 'bad' ? 'close' : 'qr'}
          amount={amount}
          title={words(`states.${status}`)}
        />
      )}
      <Link className="sy-vt-link" to={`/payments/${transactionId}`}>
        {t('look')}
      </Link>
    </>
  );
}
