/** What the pages of the estate have in common: their states, their tabs and facts that all things have. */
import { Tabs } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTexts } from '../../app/url-params.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import './estate.css';

type QueryState = { readonly error: unknown; readonly refetch: () => unknown };

/** Until there is something to show: that it is on its way, or why it is not. */
export function PageInWait({
  query: { error, refetch },
  title,
  backLink,
}: {
  readonly query: QueryState;
  readonly title: string;
  readonly backLink: { readonly to: string; readonly label: string };
}) {
  return (
    <Page title={title} backLink={backLink}>
      {error === null || error === undefined ? (
        <Panel>
          <Loading lines={8} />
        </Panel>
      ) : (
        <Problem fault={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

export function StatusBadge({ status }: { readonly status: 'Enabled' | 'Disabled' }) {
  const t = useTranslate('estate');
  return <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>;
}

export type Tab = { readonly name: string; readonly label: string; readonly content: ReactNode };

/** Which tab is open stands in the address; the filters of another one do not stay. */
export function useTab(names: readonly string[]): [string, (name: string) => void] {
  const requestedTab = useTexts()['tab'] ?? '';
  const navigate = useNavigate();
  const first = names[0] ?? '';
  const open = names.includes(requestedTab) ? requestedTab : first;
  return [
    open,
    (name) =>
      void navigate({
        to: '.',
        replace: true,
        search: (name === first ? {} : { tab: name }) as never,
      }),
  ];
}

export function PageTabs({
  label,
  tabs,
  open,
  onOpen,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly open: string;
  readonly onOpen: (name: string) => void;
}) {
  return (
    <Tabs
      className="sy-tabs"
      value={open}
      keepMounted={false}
      onChange={(name) => onOpen(name ?? '')}
    >
      <Tabs.List aria-label={label}>
        {tabs.map(({ name, label: word }) => (
          <Tabs.Tab key={name} value={name}>
            {word}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ name, content }) => (
        <Tabs.Panel key={name} value={name} className="sy-tab">
          {content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

type Common = {
  readonly externalId?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** The facts at the end of each list of facts. */
export function useCommonFacts(id: string, entity: Common) {
  const t = useTranslate('estate');
  return [
    [t('fields.externalId'), entity.externalId],
    [t('identifier'), <CopyText key="id" text={id} label={t('identifier')} />],
    [t('created'), <Time key="created" at={entity.createdAt} />],
    [t('updated'), <Time key="updated" at={entity.updatedAt} />],
  ] as const;
}

export function LabelList({ labels }: { readonly labels: Readonly<Record<string, string>> }) {
  const t = useTranslate('estate');
  const entries = Object.entries(labels);
  if (entries.length === 0) return null;
  return (
    <Panel title={t('sections.labels')}>
      <ul className="sy-label-list">
        {entries.map(([key, value]) => (
          <li key={key} className="sy-label sy-broken">
            <span>{key}</span>
            <bdi>{value}</bdi>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type AddressFacts = {
  readonly line1: string;
  readonly line2?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly city: string;
  readonly region?: string | undefined;
};

export function PostalAddress({ address }: { readonly address: AddressFacts | undefined }) {
  if (address === undefined) return null;
  const town = [address.postalCode, address.city].filter((part) => part !== undefined).join(' ');
  const lines = [address.line1, address.line2, town, address.region].filter((line) => line !== undefined);
  return (
    <span className="sy-address">
      {lines.map((line) => (
        <bdi key={line}>{line}</bdi>
      ))}
    </span>
  );
}
