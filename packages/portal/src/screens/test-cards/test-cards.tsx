/** The test cards screen: cards, amounts, addresses and PIN, with their results. */
import { Button, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { Note } from '../../components/layout/note.tsx';
import { EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import {
  type AmountGroup,
  acceptedPin,
  addressResults,
  amountGroups,
  amountResults,
  exampleCurrency,
  testCards,
  withoutSpaces,
} from './simulated-responses.ts';
import './test-cards.css';

export default function TestCards() {
  const t = useTranslate('test-cards');
  const { environment } = useSession();
  const mayPay = useHasPermission('pay.sale');
  if (environment !== 'demo') {
    return (
      <Page title={t('title')}>
        <EmptyState icon="payments" title={t('elsewhere.title')}>
          {t('elsewhere.text')}
        </EmptyState>
      </Page>
    );
  }
  const terminal = (
    <Button
      component={Link}
      to="/virtual-terminal"
      leftSection={<Icon name="terminal" size={16} />}
    >
      {t('terminal')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} actions={mayPay && terminal}>
      <Cards />
      <div className="sy-test-columns">
        {amountGroups.map((group) => (
          <Amounts key={group} group={group} />
        ))}
        <Addresses />
      </div>
    </Page>
  );
}

function Cards() {
  const t = useTranslate('test-cards');
  return (
    <Panel title={t('cards.title')}>
      <ul className="sy-test-cards">
        {testCards.map(({ name, number }) => (
          <li key={name}>
            <strong>{t(`cards.${name}`)}</strong>
            <CopyableText
              text={withoutSpaces(number)}
              displayText={number}
              label={t(`cards.${name}`)}
            />
            <span>{t(`cards.${name}Text`)}</span>
          </li>
        ))}
        <li>
          <strong>{t('pin.title')}</strong>
          <CopyableText text={acceptedPin} label={t('pin.title')} />
          <span>{t('pin.text')}</span>
        </li>
      </ul>
      <p className="sy-test-hint">{t('cards.hint')}</p>
    </Panel>
  );
}

function Amounts({ group }: { readonly group: AmountGroup }) {
  const t = useTranslate('test-cards');
  return (
    <Panel title={t(`amounts.${group}`)} flush>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('amount')}</Table.Th>
            <Table.Th>{t('ending')}</Table.Th>
            <Table.Th>{t('happens')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {amountResults[group].map((amount) => (
            <Table.Tr key={amount}>
              <Table.Td>
                <Money amount={amount} currency={exampleCurrency} />
              </Table.Td>
              <Table.Td>
                <code>…{amount}</code>
              </Table.Td>
              <Table.Td>{t(`outcomes.${amount}`)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {group === 'approved' && (
        <div className="sy-test-note">
          <Note>{t('amounts.hint')}</Note>
        </div>
      )}
    </Panel>
  );
}

function Addresses() {
  const t = useTranslate('test-cards');
  return (
    <Panel title={t('addresses.title')} flush>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('addresses.zip')}</Table.Th>
            <Table.Th>{t('addresses.house')}</Table.Th>
            <Table.Th>{t('addresses.letter')}</Table.Th>
            <Table.Th>{t('happens')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {addressResults.map(({ name, zipCode, houseNumber, letter }) => (
            <Table.Tr key={name}>
              <Table.Td>{zipCode}</Table.Td>
              <Table.Td>{houseNumber}</Table.Td>
              <Table.Td>
                <code>{letter}</code>
              </Table.Td>
              <Table.Td>{t(`addresses.${name}`)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}
