/** The test cards screen: cards, amounts, addresses and PIN, with their results. */
import './test-cards.css';
import { Button, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { Note } from '../../components/layout/note.tsx';
import { EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';

/** The last four digits of an amount in minor units. */
const amountResults = {
  approved: [9000, 9008, 9011, 9010],
  declined: [9005, 9014, 9041, 9043, 9051, 9054, 9057, 9061, 9065, 9096],
  line: [9091, 9092, 9093, 9094, 9095, 9098],
} as const;

type AmountGroup = keyof typeof amountResults;
const amountGroups = Object.keys(amountResults) as AmountGroup[];

/**
 * Test card numbers of the schemes, in groups of four digits. The demo accepts any number with a
 * correct check digit.
 */
const testCards = [
  { name: 'visa', number: '4111 1111 1111 1111' },
  { name: 'mastercard', number: '5555 5555 5555 4444' },
  { name: 'discover', number: '6011 1111 1111 1117' },
  { name: 'silent', number: '4000 0000 0000 4202' },
  { name: 'refused', number: '4000 0000 0000 4210' },
] as const;

/** The AVS response to a postal code and a house number. */
const addressResults = [
  { name: 'match', zipCode: '1012AB', houseNumber: '14', letter: 'Y' },
  { name: 'street', zipCode: '10129', houseNumber: '14', letter: 'A' },
  { name: 'postal', zipCode: '1012AB', houseNumber: '19', letter: 'Z' },
  { name: 'none', zipCode: '10129', houseNumber: '19', letter: 'N' },
  { name: 'unknown', zipCode: '00000', houseNumber: '14', letter: 'U' },
] as const;

const acceptedPin = '1234';
const exampleCurrency = 'EUR';

/** Removes the spaces between the digit groups. */
const withoutSpaces = (number: string): string => number.replaceAll(' ', '');

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
