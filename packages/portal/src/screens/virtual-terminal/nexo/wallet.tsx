/** Selects a test card and how it is read. */
import { Button } from '@mantine/core';
import type { CardEntry, WalletCard } from '@switchyard/contract';
import { useState } from 'react';
import { Panel } from '../../../components/layout/page.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { ContactlessSymbol } from '../terminal-frame.tsx';
import './wallet.css';

const lastDigits = 4;
/** The PIN of all test cards. */
const testCardPin = '1234';
const cardEntries: readonly CardEntry[] = ['Tap', 'Chip', 'MagStripe', 'Keyed'];

export function Wallet({
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
