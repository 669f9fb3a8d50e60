/** A terminal in the page, in the demo: takes a test card or shows a code, and tells how it ended. */
import { Button, SegmentedControl, Select, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { faultsByField } from '../../api/problem.ts';
import { useNames } from '../../parts/entity-name.tsx';
import { MoneyField } from '../../parts/money-field.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useFormats } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { amountFor, type Outcome, outcomes, spaced, testCards } from './outcomes.ts';
import { TerminalScreen } from './terminal-screen.tsx';
import { type Order, useTerminal } from './use-terminal.ts';
import './virtual-terminal.css';

const currencies = ['EUR', 'USD', 'JPY'];

/** What is asked for, field by field. */
function useOrder() {
  const { locale } = useFormats();
  const [method, setMethod] = useState<Order['method']>('Card');
  const [currency, setCurrency] = useState('EUR');
  const [text, setText] = useState(locale.startsWith('en') ? '12.50' : '12,50');
  const [amount, setAmount] = useState<number | undefined>(1250);
  const [outcome, setOutcome] = useState<Outcome>('');
  const [card, setCard] = useState<string>(testCards[0].number);
  const [isDeferred, setDeferred] = useState(false);
  const [deviceId, setDevice] = useState<string | undefined>(undefined);
  const [paymentType, setPaymentType] = useState('demopay');
  const asked = amount === undefined ? undefined : amountFor(amount, outcome);
  return {
    ...{ method, setMethod, currency, setCurrency, text, setText, setAmount, outcome, setOutcome },
    ...{ card, setCard, isDeferred, setDeferred, deviceId, setDevice, paymentType, setPaymentType },
    asked,
  };
}

export default function VirtualTerminal() {
  const t = useWords('virtual-terminal');
  const order = useOrder();
  const terminal = useTerminal();
  const devices = useNames('logical-devices').data;
  const named = [...(devices ?? [])].map(([value, label]) => ({ value, label }));
  const device = order.deviceId ?? named[0]?.value;
  const isQr = order.method === 'Qr';
  const canStart = order.asked !== undefined && !terminal.isBusy && !(isQr && device === undefined);
  function start(event: FormEvent): void {
    event.preventDefault();
    if (order.asked === undefined || !canStart) return;
    const { method, currency, card, isDeferred, paymentType } = order;
    terminal.start({
      ...{ method, currency, card, isDeferred, paymentType, amount: order.asked },
      deviceId: device,
    });
  }
  return (
    <Page title={t('title')} lead={t('lead')}>
      <div className="sy-vt">
        <Panel title={t('sale')}>
          <form className="sy-vt-form" onSubmit={start} noValidate>
            <SegmentedControl
              fullWidth
              aria-label={t('method')}
              value={order.method}
              onChange={(value) => order.setMethod(value as Order['method'])}
              data={(['Card', 'Qr'] as const).map((value) => ({
                value,
                label: t(`methods.${value}`),
              }))}
            />
            <SaleFields order={order} fault={terminal.fault} />
            {isQr ? <QrFields order={order} /> : <CardFields order={order} />}
            {named.length > 0 && (
              <Select
                label={t('device')}
                data={named}
                value={device ?? null}
                allowDeselect={false}
                onChange={(value) => order.setDevice(value ?? undefined)}
              />
            )}
            {terminal.fault !== undefined && <Problem fault={terminal.fault} />}
            <Button type="submit" size="md" loading={terminal.isBusy} disabled={!canStart}>
              {t(isQr ? 'showCode' : 'pay')}
            </Button>
          </form>
        </Panel>
        <TerminalScreen terminal={terminal} />
      </div>
    </Page>
  );
}

type Fields = ReturnType<typeof useOrder>;

function SaleFields({ order, fault }: { readonly order: Fields; readonly fault: unknown }) {
  const t = useWords('virtual-terminal');
  const formats = useFormats();
  const { currency, text, asked, outcome } = order;
  return (
    <>
      <div className="sy-vt-pair">
        <MoneyField
          label={t('amount')}
          text={text}
          currency={currency}
          error={faultsByField(fault)['amount']}
          onChange={(next, amount) => {
            order.setText(next);
            order.setAmount(amount);
          }}
        />
        <Select
          label={t('currency')}
          data={currencies}
          value={currency}
          allowDeselect={false}
          onChange={(value) => order.setCurrency(value ?? 'EUR')}
        />
      </div>
      {order.method === 'Card' && (
        <Select
          label={t('outcome')}
          description={
            outcome !== '' && asked !== undefined
              ? t('becomes', { amount: formats.money(asked, currency) })
              : t('outcomeHint')
          }
          data={[
            { value: '', label: t('outcomes.ok') },
            ...outcomes.map((value) => ({ value, label: t(`outcomes.${value}`) })),
          ]}
          value={outcome}
          allowDeselect={false}
          onChange={(value) => order.setOutcome((value ?? '') as Outcome)}
        />
      )}
    </>
  );
}

function CardFields({ order }: { readonly order: Fields }) {
  const t = useWords('virtual-terminal');
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
            <span className="sy-mono">{spaced(number)}</span>
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

function QrFields({ order }: { readonly order: Fields }) {
  const t = useWords('virtual-terminal');
  return (
    <TextInput
      label={t('paymentType')}
      value={order.paymentType}
      maxLength={64}
      onChange={({ currentTarget }) => order.setPaymentType(currentTarget.value.trim())}
    />
  );
}
