/** Selects a test card and how it is read. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Panel } from '../../../components/layout/page.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { ContactlessSymbol } from '../terminal-frame.tsx';
import type { PresentedCard, ScreenState } from './terminal/terminal-panel.ts';
import { cardEntryMethods, type TestCard, testCardPin, testCards } from './terminal/test-cards.ts';
import './wallet.css';

const lastDigits = 4;

export function Wallet({
  screen,
  present,
}: {
  readonly screen: ScreenState;
  readonly present: (presented: PresentedCard) => void;
}) {
  const t = useTranslate('virtual-terminal');
  const [card, setCard] = useState<TestCard>(testCards[0] as TestCard);
  const acceptedWays = screen.state === 'Card' ? screen.ways : [];
  return (
    <Panel title={t('nexo.wallet.title')}>
      <div className="sy-wallet">
        <fieldset className="sy-wallet-cards">
          <legend className="sy-unseen">{t('nexo.wallet.title')}</legend>
          {testCards.map((each) => (
            <Card key={each.name} card={each} isChosen={each === card} choose={setCard} />
          ))}
        </fieldset>
        <div className="sy-wallet-ways">
          {cardEntryMethods.map((way) => (
            <Button
              key={way}
              variant={acceptedWays.includes(way) && card.ways.includes(way) ? 'filled' : 'default'}
              disabled={!acceptedWays.includes(way) || !card.ways.includes(way)}
              leftSection={way === 'Tap' ? <ContactlessSymbol size={16} /> : undefined}
              onClick={() => present({ card, way })}
            >
              {t(`nexo.wallet.ways.${way}`)}
            </Button>
          ))}
        </div>
        <p className="sy-wallet-hint">
          {t(screen.state === 'Card' ? 'nexo.wallet.now' : 'nexo.wallet.later')}
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
  readonly card: TestCard;
  readonly isChosen: boolean;
  readonly choose: (card: TestCard) => void;
}) {
  const t = useTranslate('virtual-terminal');
  const { name, scheme, number, ways: can } = card;
  return (
    <label className="sy-wallet-card" data-card={name} data-chosen={isChosen}>
      <input
        type="radio"
        name="wallet"
        value={name}
        checked={isChosen}
        onChange={() => choose(card)}
      />
      <span className="sy-wallet-face">
        <span className="sy-wallet-top">
          {can.includes('Insert') ? <span className="sy-wallet-chip" aria-hidden="true" /> : <i />}
          {can.includes('Tap') && <ContactlessSymbol size={16} />}
        </span>
        <span className="sy-wallet-number">•••• {number.slice(-lastDigits)}</span>
        <span className="sy-wallet-scheme">{scheme}</span>
      </span>
      <span className="sy-wallet-name">{t(`nexo.wallet.cards.${name}`, { pin: testCardPin })}</span>
    </label>
  );
}
