/**
 * A point of sale and a simulated terminal in one page, connected through the Retail API and the
 * Cloud Connector.
 */
import './nexo.css';
import './wallet.css';
import { Button } from '@mantine/core';
import type { CardEntry, PortalTerminalView, WalletCard } from '@switchyard/contract';
import { type ReactNode, useState } from 'react';
import { isProblem, SignedOutError } from '../../../api/api-errors.ts';
import { Icon } from '../../../components/icon.tsx';
import { ErrorMessage } from '../../../components/layout/error-message.tsx';
import { Loading, Panel } from '../../../components/layout/page.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { ContactlessSymbol } from '../terminal-frame.tsx';
import { MessageLog } from './message-log.tsx';
import type { MoneyAmount } from './point-of-sale.ts';
import { PointOfSalePanel } from './point-of-sale-panel.tsx';
import { TerminalDevice } from './terminal-device.tsx';
import { usePointOfSale } from './use-point-of-sale.ts';
import { type SimulatedTerminal, useSimulatedTerminal } from './use-terminal-control.ts';
import { useTerminalKeys } from './use-terminal-keys.ts';

export default function NexoDemo({
  deviceId,
  enteredAmount,
  fields,
}: {
  readonly deviceId: string;
  readonly enteredAmount: MoneyAmount | undefined;
  readonly fields: ReactNode;
}) {
  const terminal = useSimulatedTerminal(deviceId);
  const keys = useTerminalKeys(terminal);
  const { view, fault } = terminal;
  const pointOfSale = usePointOfSale(deviceId, view?.tsn);
  if (view === undefined && fault === undefined) return <Loading />;
  const { exchanges, ended } = pointOfSale.view;
  return (
    <>
      <div className="sy-nexo">
        <PointOfSalePanel used={pointOfSale} enteredAmount={enteredAmount} fields={fields} />
        <div className="sy-nexo-terminal">
          <TerminalDevice view={view} keys={keys} receipt={ended?.receipt ?? []} />
          <ConnectionControl terminal={terminal} />
        </div>
        <Wallet
          key={view?.tsn}
          cards={view?.cards ?? []}
          acceptedEntries={keys.display.entries}
          present={keys.present}
        />
      </div>
      <MessageLog exchanges={exchanges} />
    </>
  );
}

const connected: readonly string[] = ['Online', 'Connecting', 'Reconnecting'];

function stateOf({ view, fault }: SimulatedTerminal): PortalTerminalView['connection'] | 'Ended' {
  const isForbidden = isProblem(fault) && fault.problem.status === 403;
  if (fault instanceof SignedOutError || isForbidden) return 'Ended';
  return view?.connection ?? (fault === undefined ? 'Connecting' : 'Refused');
}

function ConnectionControl({ terminal }: { readonly terminal: SimulatedTerminal }) {
  const t = useTranslate('virtual-terminal');
  const { view, fault, act, retry } = terminal;
  const state = stateOf(terminal);
  const isConnected = connected.includes(state);
  return (
    <div className="sy-nexo-cable">
      <p className="sy-nexo-link" data-state={state} role="status">
        <span className="sy-nexo-lamp" aria-hidden="true" />
        {t(`nexo.link.${state}`)}
        {view?.errorCode !== undefined && <code> {view.errorCode}</code>}
      </p>
      {state === 'ControlledByOtherPage' ? (
        <Button variant="default" onClick={() => act({ type: 'TakeOver' })}>
          {t('nexo.link.takeOver')}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Icon name={isConnected ? 'offline' : 'link'} size={15} />}
          onClick={() => act({ type: isConnected ? 'Disconnect' : 'Connect' })}
        >
          {t(isConnected ? 'nexo.link.disconnect' : 'nexo.link.connect')}
        </Button>
      )}
      {fault !== undefined && <ErrorMessage fault={fault} onRetry={retry} />}
    </div>
  );
}

const lastDigits = 4;
/** The PIN of all test cards. */
const testCardPin = '1234';
const cardEntries: readonly CardEntry[] = ['Tap', 'Chip', 'MagStripe', 'Keyed'];

function Wallet({
  cards,
  acceptedEntries,
  present,
}: {
  readonly cards: readonly WalletCard[];
  /** How the terminal accepts a card now. */
  readonly acceptedEntries: readonly CardEntry[];
  readonly present: (card: WalletCard, entry: CardEntry) => void;
}) {
  const t = useTranslate('virtual-terminal');
  const [chosenName, setChosenName] = useState(cards[0]?.name);
  const chosen = cards.find(({ name }) => name === chosenName);
  const canPresent = (entry: CardEntry) =>
    acceptedEntries.includes(entry) && chosen?.entries.includes(entry) === true;
  return (
    <Panel title={t('nexo.wallet.title')}>
      <div className="sy-wallet">
        <fieldset className="sy-wallet-cards">
          <legend className="sy-unseen">{t('nexo.wallet.title')}</legend>
          {cards.map((card) => (
            <Card
              key={card.name}
              card={card}
              isChosen={card === chosen}
              choose={() => setChosenName(card.name)}
            />
          ))}
        </fieldset>
        <div className="sy-wallet-ways">
          {cardEntries.map((entry) => (
            <Button
              key={entry}
              variant={canPresent(entry) ? 'filled' : 'default'}
              disabled={!canPresent(entry)}
              leftSection={entry === 'Tap' ? <ContactlessSymbol size={16} /> : undefined}
              onClick={() => chosen !== undefined && present(chosen, entry)}
            >
              {t(`nexo.wallet.ways.${entry}`)}
            </Button>
          ))}
        </div>
        <p className="sy-wallet-hint">
          {t(acceptedEntries.length > 0 ? 'nexo.wallet.now' : 'nexo.wallet.later')}
        </p>
      </div>
    </Panel>
  );
}

function Card({
  card,
  isChosen,
  choose,
}: {
  readonly card: WalletCard;
  readonly isChosen: boolean;
  readonly choose: () => void;
}) {
  const t = useTranslate('virtual-terminal');
  const { name, brand, number, entries } = card;
  return (
    <label className="sy-wallet-card" data-card={name} data-chosen={isChosen}>
      <input type="radio" name="wallet" value={name} checked={isChosen} onChange={choose} />
      <span className="sy-wallet-face">
        <span className="sy-wallet-top">
          {entries.includes('Chip') ? (
            <span className="sy-wallet-chip" aria-hidden="true" />
          ) : (
            <i />
          )}
          {entries.includes('Tap') && <ContactlessSymbol size={16} />}
        </span>
        <span className="sy-wallet-number">•••• {number.slice(-lastDigits)}</span>
        <span className="sy-wallet-scheme">{brand}</span>
      </span>
      <span className="sy-wallet-name">{t(`nexo.wallet.cards.${name}`, { pin: testCardPin })}</span>
    </label>
  );
}
