/** The actions of a merchant, store, device or other entity: edit, enable, disable, delete. */
import { Button, Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import {
  isVersionConflict,
  replaceVersioned,
  type Versioned,
} from '../../app/versioned-resources.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';
import type { EstateKind } from './entity-kinds.ts';
import { reloadEstate } from './estate-data.ts';

type Entity = { readonly name: string; readonly status: 'Enabled' | 'Disabled' };
type EntityAction = 'enable' | 'disable' | 'delete';

export type EntityActionsProps = {
  readonly kind: EstateKind;
  readonly address: string;
  readonly versioned: Versioned<Entity>;
  /** The path of the edit page. */
  readonly editTo: string;
  readonly mayWrite: boolean;
  readonly mayDelete?: boolean;
  readonly onDeleted: () => void;
  /** More menu items. */
  readonly items?: ReactNode;
  /** More buttons before the menu. */
  readonly children?: ReactNode;
};

export function EntityActions(props: EntityActionsProps) {
  const { versioned: of, editTo, mayWrite, mayDelete = mayWrite, items, children } = props;
  const t = useTranslate('estate');
  const [verb, setVerb] = useState<EntityAction | undefined>(undefined);
  if (!mayWrite) return <>{children}</>;
  const toggle: EntityAction = of.body.status === 'Enabled' ? 'disable' : 'enable';
  return (
    <>
      {children}
      <Button
        variant="default"
        component={Link}
        to={editTo}
        leftSection={<Icon name="edit" size={16} />}
      >
        {t('edit')}
      </Button>
      <Menu>
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="chevronDown" size={14} />}>
            {t('more')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {items}
          <Menu.Item
            leftSection={<Icon name={toggle === 'disable' ? 'ban' : 'check'} size={16} />}
            onClick={() => setVerb(toggle)}
          >
            {t(`${toggle}.do`)}
          </Menu.Item>
          {mayDelete && (
            <Menu.Item
              leftSection={<Icon name="trash" size={16} />}
              onClick={() => setVerb('delete')}
            >
              {t('delete.do')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {verb !== undefined && (
        <EntityActionDialog {...props} verb={verb} onClose={() => setVerb(undefined)} />
      )}
    </>
  );
}

function EntityActionDialog({
  kind,
  address,
  versioned: { body, etag },
  onDeleted,
  verb,
  onClose,
}: EntityActionsProps & { readonly verb: EntityAction; readonly onClose: () => void }) {
  const t = useTranslate('estate');
  const status = verb === 'enable' ? 'Enabled' : 'Disabled';
  return (
    <ActionDialog
      t={t}
      action={verb}
      values={{ name: body.name }}
      text={t(`kinds.${kind}.${verb}Text`, { name: body.name })}
      isDangerous={verb !== 'enable'}
      run={(): Promise<unknown> =>
        verb === 'delete'
          ? api.delete(address, { headers: { 'if-match': etag } })
          : replaceVersioned(address, etag, { ...body, status })
      }
      onFault={(fault) => {
        // The page reloads the version of the other user; the next click uses it.
        if (isVersionConflict(fault)) reloadEstate();
      }}
      onClose={onClose}
      onDone={() => {
        // Navigate before the deleted entity is read again.
        if (verb === 'delete') onDeleted();
        reloadEstate();
      }}
    />
  );
}
