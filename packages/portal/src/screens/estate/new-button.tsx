/** The button to the form for a new entity. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';
import type { EstateKind } from './entity-kinds.ts';

export function NewButton({
  kind,
  to,
  search = {},
  isSmall = false,
}: {
  readonly kind: EstateKind;
  readonly to: string;
  /** Initial values of the form, as search parameters. */
  readonly search?: Readonly<Record<string, string>>;
  readonly isSmall?: boolean;
}) {
  const t = useTranslate('estate');
  return (
    <Button
      component={Link}
      to={to}
      search={search as never}
      size={isSmall ? 'xs' : 'sm'}
      leftSection={<Icon name="plus" size={16} />}
    >
      {t(`kinds.${kind}.new`)}
    </Button>
  );
}
