/** The point of sale: sends an amount to the terminal and shows the result. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { FormEvent, ReactNode } from 'react';
import { Icon } from '../../../components/icon.tsx';
import { ErrorMessage } from '../../../components/layout/error-message.tsx';
import { Panel } from '../../../components/layout/page.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { useFormats } from '../../../session/use-session.ts';
import type { MoneyAmount, ServiceOutcome } from './point-of-sale.ts';
import type { UsedPointOfSale } from './use-point-of-sale.ts';

type Tone = 'good' | 'bad' | 'warn';

const tones: Readonly<Record<ServiceOutcome['result'], Tone>> = {
  Success: 'good',
  Partial: 'warn',
  Failure: 'bad',
  NotProcessed: 'bad',
  Unknown: 'warn',
};

export function PointOfSalePanel({
  used: { till, view, fault },
  enteredAmount,
  fields,
}: {
  readonly used: UsedPointOfSale;
  /** The entered amount. */
  readonly enteredAmount: MoneyAmount | undefined;
  readonly fields: ReactNode;
}) {
  const t = useTranslate('virtual-terminal');
  const { running, ended } = view;
  const canPay = till !== undefined && running === undefined && enteredAmount !== undefined;
  function pay(event: FormEvent): void {
    event.preventDefault();
    if (canPay) till.pay(enteredAmount);
  }
  return (
    <Panel title={t('nexo.till.title')}>
      <form className="sy-vt-form" onSubmit={pay} noValidate>
        {fields}
        <Button
          type="submit"
          size="md"
          loading={running !== undefined}
          loaderProps={{ type: 'dots' }}
          disabled={!canPay}
        >
          {t('nexo.till.pay')}
        </Button>
        <div className="sy-nexo-besides">
          <Button
            variant="default"
            disabled={running?.service !== 'Payment' || running.isAsking}
            onClick={() => till?.abort()}
          >
            {t('nexo.till.abort')}
          </Button>
          <Button variant="default" disabled={till === undefined} onClick={() => till?.askStatus()}>
            {t('nexo.till.status')}
          </Button>
          <Button variant="default" disabled={till === undefined} onClick={() => till?.diagnose()}>
            {t('nexo.till.diagnosis')}
          </Button>
        </div>
      </form>
      <div aria-live="polite">
        {fault !== undefined && <ErrorMessage fault={fault} />}
        {running !== undefined && (
          <p className="sy-nexo-running">
            {t(running.isAsking ? 'nexo.till.asking' : `nexo.till.running.${running.service}`)}
          </p>
        )}
        {ended !== undefined && (
          <End
            ended={ended}
            canReverse={running === undefined}
            onReverse={() => till?.reverse(ended)}
          />
        )}
      </div>
    </Panel>
  );
}

/** Shows if the payment succeeded. */
function End({
  ended,
  canReverse,
  onReverse,
}: {
  readonly ended: ServiceOutcome;
  readonly canReverse: boolean;
  readonly onReverse: () => void;
}) {
  const t = useTranslate('virtual-terminal');
  const formats = useFormats();
  const { service, result, condition, additional, sum, transactionId } = ended;
  const isPaid = service === 'Payment' && (result === 'Success' || result === 'Partial');
  // A sale that did not reach the platform has only a terminal identifier and no payment page.
  const hasPage = /^[0-9a-f]{8}-/.test(transactionId ?? '');
  return (
    <div className="sy-nexo-end" data-tone={tones[result]}>
      <Icon name={tones[result] === 'good' ? 'check' : 'alert'} size={22} />
      <div>
        <p className="sy-nexo-end-title">
          {t(`nexo.till.ends.${service}.${result}`)}
          {sum !== undefined && ` · ${formats.money(sum.amount, sum.currency)}`}
        </p>
        {condition !== undefined && (
          <p className="sy-broken">
            {condition}
            {additional !== undefined && `: ${additional}`}
          </p>
        )}
        <div className="sy-nexo-end-ways">
          {hasPage && <Link to={`/payments/${transactionId}`}>{t('look')}</Link>}
          {isPaid && (
            <Button
              size="compact-sm"
              variant="default"
              disabled={!canReverse}
              leftSection={<Icon name="refund" size={14} />}
              onClick={onReverse}
            >
              {t('nexo.till.reverse')}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}
