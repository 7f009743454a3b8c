"""A trace as Perfetto's own protobuf classes read it."""

from __future__ import annotations

import dataclasses
import pathlib

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

CLEARED = perfetto.TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED
EVENT = perfetto.TrackEvent


@dataclasses.dataclass
class Slice:
    name: str
    category: str
    begin: int
    depth: int
    flows: list[int]
    details: dict
    end: int | None = None


@dataclasses.dataclass
class Track:
    descriptor: perfetto.TrackDescriptor
    slices: list[Slice] = dataclasses.field(default_factory=list)
    instants: list[Slice] = dataclasses.field(default_factory=list)
    counts: list[tuple[int, int]] = dataclasses.field(default_factory=list)


class Decoded:
    def __init__(self, path: pathlib.Path):
        self.trace = perfetto.Trace()
        self.trace.ParseFromString(path.read_bytes())
        self.tracks: dict[int, Track] = {}
        self.texts: dict[str, dict[int, str]] = {}
        events = []
        for packet in self.trace.packet:
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = Track(packet.track_descriptor)
            if packet.sequence_flags & CLEARED:
                self.texts = {}
            self.take_texts(packet.interned_data)
            if packet.HasField("track_event"):
                events.append((packet.timestamp, self.read(packet), packet.track_event))
        # As Perfetto does: by time, and packets of one time as they are in the file.
        events.sort(key=lambda event: event[0])
        open_slices: dict[int, list[Slice]] = {}
        for time, read, event in events:
            self.place(time, read, event, open_slices.setdefault(event.track_uuid, []))
        self.left_open = [one for open_on_track in open_slices.values() for one in open_on_track]

    def take_texts(self, data) -> None:
        for kind in ("event_names", "event_categories", "debug_annotation_names"):
            self.texts.setdefault(kind, {}).update({text.iid: text.name for text in getattr(data, kind)})
        values = {text.iid: text.str.decode() for text in data.debug_annotation_string_values}
        self.texts.setdefault("values", {}).update(values)

    def value(self, annotation):
        if annotation.dict_entries:
            return {self.texts["debug_annotation_names"][one.name_iid]: self.value(one) for one in annotation.dict_entries}
        if annotation.HasField("string_value_iid"):
            return self.texts["values"][annotation.string_value_iid]
        return annotation.string_value if annotation.HasField("string_value") else annotation.uint_value

    def read(self, packet) -> Slice:
        event = packet.track_event
        details = {self.texts["debug_annotation_names"][one.name_iid]: self.value(one) for one in event.debug_annotations}
        name = self.texts["event_names"][event.name_iid] if event.name_iid else ""
        category = self.texts["event_categories"][event.category_iids[0]] if event.category_iids else ""
        return Slice(name, category, packet.timestamp, 0, list(event.flow_ids), details)

    def place(self, time: int, read: Slice, event, open_slices: list[Slice]) -> None:
        track = self.tracks[event.track_uuid]
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            read.depth = len(open_slices)
            open_slices.append(read)
            track.slices.append(read)
        elif event.type == EVENT.TYPE_SLICE_END:
            ended = open_slices.pop()
            ended.end = time
            ended.details.update(read.details)
        elif event.type == EVENT.TYPE_INSTANT:
            track.instants.append(read)
        else:
            track.counts.append((time, event.counter_value))

    def threads(self) -> list[Track]:
        return [track for track in self.tracks.values() if track.descriptor.HasField("thread")]

    def named(self, name: str) -> Track:
        return next(track for track in self.tracks.values() if track.descriptor.name == name)
