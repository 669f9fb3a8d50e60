/** The virtual terminal of the demo: card payment, QR code, or point of sale and terminal. */
import { SegmentedControl } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { DeviceField, SaleFields } from './sale-fields.tsx';
import { StandaloneTerminal } from './standalone-terminal.tsx';
import { useTerminalDevices } from './use-devices.ts';
import {
  type PaymentMethod,
  paymentMethods,
  type SaleInput,
  useSaleInput,
} from './use-sale-input.ts';
import './virtual-terminal.css';

const NexoStation = lazy(() => import('./nexo/nexo-demo.tsx'));

type Devices = ReturnType<typeof useTerminalDevices>;

export default function VirtualTerminal() {
  const t = useTranslate('virtual-terminal');
  const order = useSaleInput();
  const devices = useTerminalDevices();
  const { method } = order;
  const deviceId = order.device ?? devices.choices[0]?.value;
  return (
    <Page
      title={t('title')}
      lead={t('lead')}
      actions={
        <SegmentedControl
          className="sy-vt-method"
          aria-label={t('method')}
          value={method}
          onChange={(value) => order.setMethod(value as PaymentMethod)}
          data={paymentMethods.map((value) => ({ value, label: t(`methods.${value}`) }))}
        />
      }
    >
      {method === 'Nexo' ? (
        <Nexo order={order} devices={devices} deviceId={deviceId} />
      ) : (
        <StandaloneTerminal
          key={method}
          order={order}
          method={method}
          choices={devices.choices}
          deviceId={deviceId}
        />
      )}
    </Page>
  );
}

function Nexo({
  order,
  devices: { choices, error, isPending, refetch },
  deviceId,
}: {
  readonly order: SaleInput;
  readonly devices: Devices;
  readonly deviceId: string | undefined;
}) {
  const t = useTranslate('virtual-terminal');
  const { asked: amount, currency } = order;
  if (isPending) return <Loading />;
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (deviceId === undefined) {
    return (
      <EmptyState icon="terminal" title={t('nexo.noDevice')}>
        {t('nexo.noDeviceText')}
      </EmptyState>
    );
  }
  return (
    <Suspense fallback={<Loading />}>
      <NexoStation
        key={deviceId}
        deviceId={deviceId}
        enteredAmount={amount === undefined ? undefined : { amount, currency }}
        fields={
          <>
            <SaleFields order={order} />
            <DeviceField choices={choices} value={deviceId} onChange={order.setDevice} />
          </>
        }
      />
    </Suspense>
  );
}
