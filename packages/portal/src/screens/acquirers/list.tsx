/** The list of acquirer links with availability, waiting messages and invalid settings. */
import type { AcquirerLink } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';
import { LinkBadge } from './link-badge.tsx';
import { type LinkStateItem, linkStateOf, sumLinkStates } from './link-state.ts';
import { useLinkStates } from './use-link-states.ts';
import './acquirers.css';

function useColumns(
  t: Translate,
  states: ReadonlyMap<string, LinkStateItem> | undefined,
): Column<AcquirerLink>[] {
  const formats = useFormats();
  const factsOf = ({ acquirerLinkId }: AcquirerLink) => states?.get(acquirerLinkId);
  return [
    textColumn(t('name'), ({ name }) => name, 'lead'),
    {
      header: t('state'),
      width: '11rem',
      cardPosition: 'subtrail',
      cell: (link) => <LinkBadge state={linkStateOf(link, factsOf(link))} />,
    },
    numberColumn(t('connections'), '8rem', (link) => {
      const connections = factsOf(link)?.connections;
      return connections === undefined ? '–' : `${connections.signedOn} / ${connections.wanted}`;
    }),
    numberColumn(t('waiting'), '7rem', (link) => {
      const facts = factsOf(link);
      return facts === undefined ? '–' : formats.number(facts.queue.length);
    }),
    timeColumn(t('oldest'), (link) => factsOf(link)?.queue.oldestAt),
    textColumn(t('host'), ({ host, port }) => `${host}:${port}`, 'sub'),
    { header: t('adapter'), width: '9rem', cell: ({ adapter }) => t(`adapters.${adapter}`) },
  ];
}

function Sums({ linkStates }: { readonly linkStates: ReadonlyMap<string, LinkStateItem> }) {
  const t = useTranslate('acquirers');
  const formats = useFormats();
  const { links, available, waiting, alarms, faulty } = sumLinkStates([...linkStates.values()]);
  const tiles = [
    ['available', `${available} / ${links}`, available === links ? 'good' : 'bad'],
    ['waiting', formats.number(waiting), undefined],
    ['alarms', formats.number(alarms), alarms > 0 ? 'bad' : undefined],
    ['faulty', formats.number(faulty), faulty > 0 ? 'bad' : undefined],
  ] as const;
  return (
    <ul className="sy-tiles" aria-label={t('sums.title')}>
      {tiles.map(([word, text, tone]) => (
        <li key={word} className="sy-tile" data-tone={tone}>
          <span>{t(`sums.${word}`)}</span>
          <strong>{text}</strong>
        </li>
      ))}
    </ul>
  );
}

export default function Acquirers() {
  const t = useTranslate('acquirers');
  const mayMake = useHasPermission('prov.write');
  const states = useLinkStates().data;
  const columns = useColumns(t, states);
  return (
    <Page
      title={t('title')}
      lead={t('lead')}
      actions={mayMake && <NewButton kind="link" to="/acquirers/new" />}
      fill
    >
      {states !== undefined && states.size > 0 && <Sums linkStates={states} />}
      <EstateList<AcquirerLink>
        kind="link"
        path={estateApiUrls.links}
        icon="link"
        columns={columns}
        rowKey={({ acquirerLinkId }) => acquirerLinkId}
        rowTo={({ acquirerLinkId }) => `/acquirers/${acquirerLinkId}`}
      />
    </Page>
  );
}
