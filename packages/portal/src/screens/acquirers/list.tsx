/** The list of acquirer links with availability, waiting messages and invalid settings. */
import type { AcquirerLink } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
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
    {
      id: 'name',
      header: t('name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    {
      id: 'state',
      header: t('state'),
      width: '11rem',
      cardPosition: 'subtrail',
      cell: (link) => <LinkBadge state={linkStateOf(link, factsOf(link))} />,
    },
    {
      id: 'connections',
      header: t('connections'),
      width: '8rem',
      align: 'end',
      cell: (link) => {
        const connections = factsOf(link)?.connections;
        return connections === undefined ? '–' : `${connections.signedOn} / ${connections.wanted}`;
      },
    },
    {
      id: 'queue',
      header: t('waiting'),
      width: '7rem',
      align: 'end',
      cell: (link) => {
        const facts = factsOf(link);
        return facts === undefined ? '–' : formats.number(facts.queue.length);
      },
    },
    {
      id: 'oldest',
      header: t('oldest'),
      width: '10.5rem',
      cell: (link) => <DateTime at={factsOf(link)?.queue.oldestAt} />,
    },
    {
      id: 'host',
      header: t('host'),
      cardPosition: 'sub',
      cell: ({ host, port }) => <TruncatedName>{`${host}:${port}`}</TruncatedName>,
    },
    {
      id: 'adapter',
      header: t('adapter'),
      width: '9rem',
      cell: ({ adapter }) => t(`adapters.${adapter}`),
    },
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
      {...(mayMake ? { actions: <NewButton kind="link" to="/acquirers/new" /> } : {})}
      fill
    >
      {states !== undefined && states.size > 0 && <Sums linkStates={states} />}
      <EstateList<AcquirerLink>
        kind="link"
        address={estateApiUrls.links}
        icon="link"
        columns={columns}
        rowKey={({ acquirerLinkId }) => acquirerLinkId}
        rowTo={({ acquirerLinkId }) => `/acquirers/${acquirerLinkId}`}
      />
    </Page>
  );
}
