/** Card and QR payments without a point of sale; the page calls the API as the device. */
import { Button, SegmentedControl, TextInput } from '@mantine/core';
import type { QrTransaction, Transaction } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { Icon, type IconName } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { DeviceField, SaleFields } from './sale-fields.tsx';
import { groupCardDigits, testCards } from './simulated-outcomes.ts';
import { DecorativeKeypad, type ScreenTone, TerminalFrame } from './terminal-frame.tsx';
import type { DeviceOption } from './use-devices.ts';
import type { SaleInput } from './use-sale-input.ts';
import { type StandaloneTerminalState, useStandaloneTerminal } from './use-standalone-terminal.ts';

export function StandaloneTerminal({
  order,
  method,
  choices,
  deviceId,
}: {
  readonly order: SaleInput;
  readonly method: 'Card' | 'Qr';
  readonly choices: readonly DeviceOption[];
  readonly deviceId: string | undefined;
}) {
  const t = useTranslate('virtual-terminal');
  const terminal = useStandaloneTerminal();
  const isQr = method === 'Qr';
  const isPossible = order.asked !== undefined && !(isQr && deviceId === undefined);
  const canStart = isPossible && !terminal.isBusy;
  function start(event: FormEvent): void {
    event.preventDefault();
    if (order.asked === undefined || !canStart) return;
    const { currency, card, isDeferred, paymentType, asked: amount } = order;
    terminal.start({ method, currency, card, isDeferred, paymentType, amount, deviceId });
  }
  return (
    <div className="sy-vt">
      <Panel title={t('sale')}>
        <form className="sy-vt-form" onSubmit={start} noValidate>
          <SaleFields order={order} fault={terminal.fault} />
          {isQr ? <QrFields order={order} /> : <CardFields order={order} />}
          <DeviceField choices={choices} value={deviceId} onChange={order.setDevice} />
          {terminal.fault !== undefined && <ErrorMessage fault={terminal.fault} />}
          <Button type="submit" size="md" loading={terminal.isBusy} disabled={!canStart}>
            {t(isQr ? 'showCode' : 'pay')}
          </Button>
        </form>
      </Panel>
      <StandaloneScreen terminal={terminal} />
    </div>
  );
}

function CardFields({ order }: { readonly order: SaleInput }) {
  const t = useTranslate('virtual-terminal');
  return (
    <>
      <fieldset className="sy-vt-cards">
        <legend>{t('card')}</legend>
        {testCards.map(({ scheme, number }) => (
          <label key={number} className="sy-vt-card" data-chosen={order.card === number}>
            <input
              type="radio"
              name="card"
              value={number}
              checked={order.card === number}
              onChange={() => order.setCard(number)}
            />
            <strong>{scheme}</strong>
            <span className="sy-mono">{groupCardDigits(number)}</span>
          </label>
        ))}
      </fieldset>
      <SegmentedControl
        aria-label={t('captureMode')}
        value={order.isDeferred ? 'Deferred' : 'Immediate'}
        onChange={(value) => order.setDeferred(value === 'Deferred')}
        data={(['Immediate', 'Deferred'] as const).map((value) => ({
          value,
          label: t(`captureModes.${value}`),
        }))}
      />
    </>
  );
}

function QrFields({ order }: { readonly order: SaleInput }) {
  const t = useTranslate('virtual-terminal');
  return (
    <TextInput
      label={t('paymentType')}
      value={order.paymentType}
      maxLength={64}
      onChange={({ currentTarget }) => order.setPaymentType(currentTarget.value.trim())}
    />
  );
}

function Screen({
  icon,
  amount,
  title,
  text,
}: {
  readonly icon: IconName;
  readonly amount?: string | undefined;
  readonly title: string;
  readonly text?: string | undefined;
}) {
  return (
    <div className="sy-pos-content">
      <span className="sy-pos-icon">
        <Icon name={icon} size={30} />
      </span>
      {amount !== undefined && <p className="sy-pos-amount">{amount}</p>}
      <p className="sy-pos-title">{title}</p>
      {text !== undefined && <p className="sy-pos-text sy-broken">{text}</p>}
    </div>
  );
}

const lampsOf: Readonly<Record<ScreenTone, string>> = {
  plain: 'Idle',
  busy: 'Busy',
  good: 'Approved',
  bad: 'Declined',
};

function toneOf({ progress, fault }: StandaloneTerminalState): ScreenTone {
  if (progress.step === 'ready') return fault === undefined ? 'plain' : 'bad';
  if (progress.step === 'busy') return 'busy';
  if (progress.step === 'card') return progress.payment.approved ? 'good' : 'bad';
  return (
    ended[progress.payment.status] ?? (progress.payment.display === undefined ? 'busy' : 'plain')
  );
}

function StandaloneScreen({ terminal }: { readonly terminal: StandaloneTerminalState }) {
  const t = useTranslate('virtual-terminal');
  const { progress } = terminal;
  const tone = toneOf(terminal);
  const payment = 'payment' in progress ? progress.payment : undefined;
  return (
    <div className="sy-vt-stand">
      <TerminalFrame
        label={t('terminal')}
        state={lampsOf[tone]}
        screen={
          <div className="sy-pos-screen" data-tone={tone} aria-live="polite">
            <Content terminal={terminal} tone={tone} />
          </div>
        }
        keys={<DecorativeKeypad />}
      />
      {payment !== undefined && (
        <Link className="sy-vt-link" to={`/payments/${payment.transactionId}`}>
          {t('look')}
        </Link>
      )}
    </div>
  );
}

function Content({
  terminal: { progress, fault },
  tone,
}: {
  readonly terminal: StandaloneTerminalState;
  readonly tone: ScreenTone;
}) {
  const t = useTranslate('virtual-terminal');
  const formats = useFormats();
  if (progress.step === 'card') return <CardEnd payment={progress.payment} />;
  if (progress.step === 'code') return <Code payment={progress.payment} tone={tone} />;
  if (progress.step === 'ready') {
    const isFine = fault === undefined;
    return (
      <Screen
        icon={isFine ? 'payments' : 'alert'}
        title={t(isFine ? 'screen.ready' : 'screen.fault')}
      />
    );
  }
  const amount = formats.money(progress.order.amount, progress.order.currency);
  return <Screen icon="refresh" amount={amount} title={t('screen.busy')} />;
}

function CardEnd({ payment }: { readonly payment: Transaction }) {
  const t = useTranslate('virtual-terminal');
  const formats = useFormats();
  const { approved, amount, currency, response, state } = payment;
  const isOpen = state === 'Reversing';
  return (
    <Screen
      icon={approved ? 'check' : 'close'}
      amount={formats.money(amount, currency)}
      title={t(approved ? 'screen.approved' : isOpen ? 'screen.reversing' : 'screen.declined')}
      text={approved ? payment.authorizationCode : response?.reason}
    />
  );
}

const ended: Readonly<Record<string, ScreenTone>> = {
  Completed: 'good',
  Authorized: 'good',
  Declined: 'bad',
  Cancelled: 'bad',
  Expired: 'bad',
  Failed: 'bad',
};

/** Images of a provider are shown only as images, so no script runs. */
function pictureOf({ display }: QrTransaction): string | undefined {
  if (display?.type === 'image/png') return `data:image/png;base64,${display.data}`;
  if (display?.type !== 'image/svg+xml') return undefined;
  return display.data.startsWith('<')
    ? `data:image/svg+xml,${encodeURIComponent(display.data)}`
    : `data:image/svg+xml;base64,${display.data}`;
}

function Code({ payment, tone }: { readonly payment: QrTransaction; readonly tone: ScreenTone }) {
  const t = useTranslate('virtual-terminal');
  const words = useTranslate('payments');
  const formats = useFormats();
  const { status, paymentAmount, display } = payment;
  const amount = formats.money(paymentAmount.amount, paymentAmount.currency);
  const title = words(`states.${status}`);
  if (display === undefined || ended[status] !== undefined) {
    const icon = tone === 'good' ? 'check' : tone === 'bad' ? 'close' : 'qr';
    return <Screen icon={icon} amount={amount} title={title} />;
  }
  const picture = pictureOf(payment);
  return (
    <div className="sy-pos-content">
      <p className="sy-pos-amount">{amount}</p>
      {picture !== undefined ? (
        <img src={picture} alt={t('code')} width="168" height="168" />
      ) : (
        <code className="sy-broken">{display.data}</code>
      )}
      <p className="sy-pos-title">{title}</p>
    </div>
  );
}
