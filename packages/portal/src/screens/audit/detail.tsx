/** The page of an audit record: values before and after, and its hashes. */
import { Table } from '@mantine/core';
import type { AuditRecord } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { useTranslate } from '../../locales/index.ts';

type Members = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => {
  if (value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
};

/** The changed members; all members for a created or deleted object. */
function changesOf(before: Members = {}, after: Members = {}): [string, unknown, unknown][] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => [name, before[name], after[name]]);
}

export default function AuditDetail() {
  const t = useTranslate('audit');
  const sequence = usePathParam('sequence');
  const query = useQuery({
    queryKey: ['audit', sequence],
    queryFn: ({ signal }) => api.get<AuditRecord>(`/audit/v1/records/${sequence}`, { signal }),
  });
  const { data } = query;
  const backLink = { to: '/audit', label: t('title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('record')} backLink={backLink} />;
  const { action, at, actor, entity, requestId, hash, previousHash } = data;
  return (
    <Page title={action} backLink={backLink}>
      <Panel title={t('facts')}>
        <DescriptionList
          items={[
            timeItem(t('at'), at, true),
            copyItem(t('actor'), actor.subject),
            [t('client'), actor.clientId],
            [t('kind'), t(`kinds.${actor.kind}`)],
            [t('entity'), `${entity.type} ${entity.id}`],
            copyItem(t('request'), requestId),
            [t('sequence'), data.sequence],
            copyItem(t('hash'), hash),
            copyItem(t('previousHash'), previousHash),
          ]}
        />
      </Panel>
      <Changes before={data.before} after={data.after} />
    </Page>
  );
}

function Changes({
  before,
  after,
}: {
  readonly before: Members | undefined;
  readonly after: Members | undefined;
}) {
  const t = useTranslate('audit');
  const changes = changesOf(before, after);
  if (changes.length === 0) {
    return <EmptyState icon="info" title={t('noChange')} />;
  }
  return (
    <Panel title={t('changes')} flush>
      <Table layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('member')}</Table.Th>
            <Table.Th>{t('before')}</Table.Th>
            <Table.Th>{t('after')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map(([name, was, is]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" className="sy-broken">
                {name}
              </Table.Th>
              <Table.Td className="sy-mono sy-broken">{textOf(was)}</Table.Td>
              <Table.Td className="sy-mono sy-broken">{textOf(is)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}
