/** Card and QR payments without a point of sale; the page calls the API as the device. */
import { Button, SegmentedControl, TextInput } from '@mantine/core';
import type { FormEvent } from 'react';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { DeviceField, SaleFields } from './sale-fields.tsx';
import { groupCardDigits, testCards } from './simulated-outcomes.ts';
import { StandaloneScreen } from './standalone-screen.tsx';
import type { DeviceOption } from './use-devices.ts';
import type { SaleInput } from './use-sale-input.ts';
import { useStandaloneTerminal } from './use-standalone-terminal.ts';

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
